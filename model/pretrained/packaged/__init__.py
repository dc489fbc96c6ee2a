"""Models out of packages of others: pip brings the wheel, its data is read and converted, its code is never run."""
