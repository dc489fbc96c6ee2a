"""What every page needs: the frame, the state, its address, the session and waiting for answers."""
