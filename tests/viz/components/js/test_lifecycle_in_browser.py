"""A part of a page is made once, told every time and ended once, in whatever order Streamlit calls and cleans up."""

SETTING = """const said = [], parentElement = document.createElement("div"), call = (data) => ({ data, parentElement });
    const begin = (name) => (_, { data }) => (said.push(`${name} begins with ${data}`),
        { update: (now) => said.push(`${name} ${now.data}`), end: () => said.push(`${name} ends`) });"""


def test_it_is_made_once_with_its_style_and_ends_with_the_last_clean_up(run_module):
    said, styled, left = run_module("js/lifecycle.js", f"""({{ mountOnce }}) => {{ {SETTING}
        const draw = mountOnce(begin("one"), ".x {{ color: red; }}");
        draw(call(1));
        const end = draw(call(2)), styled = parentElement.innerHTML;
        end();
        draw(call(3));
        return [said, styled, parentElement.children.length];
    }}""")
    assert said == ["one begins with 1", "one 1", "one 2", "one ends", "one begins with 3", "one 3"]
    assert styled == "<style>.x { color: red; }</style>" and left == 1


def test_the_clean_up_of_a_call_that_was_overtaken_ends_nothing(run_module):
    said = run_module("js/lifecycle.js", f"""({{ mountOnce }}) => {{ {SETTING}
        const draw = mountOnce(begin("one")), [first, second] = [draw(call(1)), draw(call(2))];
        first();
        said.push("still there");
        second();
        return said;
    }}""")
    assert said == ["one begins with 1", "one 1", "one 2", "still there", "one ends"]


def test_where_a_server_came_back_with_other_files_they_take_the_place(run_module):
    said = run_module("js/lifecycle.js", f"""({{ mountOnce }}) => {{ {SETTING}
        const old = mountOnce(begin("old"))(call(1)), anew = mountOnce(begin("new"))(call(2));
        old();
        said.push("still there");
        anew();
        return [...said, parentElement.children.length];
    }}""")
    assert said == ["old begins with 1", "old 1", "old ends", "new begins with 2", "new 2", "still there", "new ends",
                    0]
