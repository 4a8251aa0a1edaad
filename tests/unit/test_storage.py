"""Homes: what shares one, and which bytes move where it cannot."""

from __future__ import annotations

from support.stages import plan_graph


def straight(body: str, result: str) -> str:
    return f"""
        function main(%x: int32[8], %y: int32[8]) {{
          {body}
          return {result}
        }}
        signature : main(x, y) -> (z)
    """


def loop(following: str, tail: str = "%a2", body: str = "", size: int = 8) -> str:
    """a and b are carried by a loop over i < n."""
    t = f"int32[{size}]"
    return f"""
        constant #one: int32[1] = 1
        constant #zero: int32[1] = 0
        function main(%x: {t}, %y: {t}, %n: int32[1]) {{
          while (%i: int32[1], %a: {t}, %b: {t}) = (#zero, %x, %y) {{
            %p: bool[1] = LESS(%i, %n)
            test %p
          }} do {{
            {body}
            %i1: int32[1] = ADD(%i, #one)
            next %i1, {following}
          }} -> %i2: int32[1], %a2: {t}, %b2: {t}
          return {tail}
        }}
        signature : main(x, y, n) -> ({", ".join("z" for _ in tail.split(","))})
    """


def test_elementwise_operators_work_in_place() -> None:
    plan = plan_graph(straight("%s: int32[8] = ADD(%x, %y)\n          %z: int32[8] = MUL(%s, %s)", "%z"))
    assert plan.together("%s", "%z")
    assert plan.together("%x", "%s")
    assert plan.arena.bytes == 64


def test_not_over_an_input_that_lives_on() -> None:
    plan = plan_graph(straight("%s: int32[8] = ADD(%x, %x)\n          %z: int32[8] = MUL(%s, %x)", "%z"))
    assert not plan.together("%x", "%s")


def test_not_over_an_input_whose_view_lives_on() -> None:
    body = """%v: int32[2,4] = RESHAPE(%x) {new_shape=(2,4)}
          %s: int32[8] = ADD(%x, %y)
          %w: int32[2,4] = ADD(%v, %v)
          %u: int32[8] = RESHAPE(%w) {new_shape=(8,)}
          %z: int32[8] = MUL(%s, %u)"""
    plan = plan_graph(straight(body, "%z"))
    assert plan.together("%x", "%v")
    assert not plan.together("%x", "%s")
    assert plan.together("%y", "%s")


def test_unchanged_order_needs_no_moves() -> None:
    plan = plan_graph(loop("%a1, %b", body="%a1: int32[8] = ADD(%a, %b)"))
    assert plan.together("%x", "%a", "%a1", "%a2")
    assert plan.moves("next") == (0, 0)


def test_large_variables_change_places_by_pointers() -> None:
    plan = plan_graph(loop("%b, %a", tail="%a2, %b2"))
    assert not plan.together("%a", "%b")
    assert plan.moves("next") == (0, 2)


def test_small_variables_change_places_by_three_copies() -> None:
    plan = plan_graph(loop("%b, %a", tail="%a2, %b2", size=2))
    assert plan.moves("next") == (3, 0)


def test_a_value_that_is_needed_to_the_end_is_not_overwritten_before() -> None:
    """b is read at the back edge, so its next value waits in a place of its own: two copies."""
    body = "%b1: int32[2] = ADD(%b, %b)"
    plan = plan_graph(loop("%b, %b1", tail="%a2, %b2", body=body, size=2))
    assert not plan.together("%b", "%b1")
    assert plan.moves("next") == (2, 0)


def test_constants_are_stored_where_they_become_variables() -> None:
    plan = plan_graph(loop("%a, %b"))
    assert plan.moves("init") == (1, 0)


def test_branches_write_into_the_results() -> None:
    plan = plan_graph("""
        function main(%p: bool[1], %x: int32[8], %y: int32[8]) {
          if %p {
            %s: int32[8] = ADD(%x, %y)
            yield %s
          } else {
            %t: int32[8] = SUB(%x, %y)
            yield %t
          } -> %z: int32[8]
          return %z
        }
        signature : main(p, x, y) -> (z)
    """)
    assert plan.together("%s", "%t", "%z")
    assert plan.moves("then") == plan.moves("else") == (0, 0)


def test_calls_pass_values_without_moving_them() -> None:
    plan = plan_graph("""
        function f(%a: int32[8]) {
          %b: int32[8] = ADD(%a, %a)
          return %b
        }
        function main(%x: int32[8]) {
          %y: int32[8] = call f(%x)
          %z: int32[8] = call f(%y)
          return %z
        }
        signature : main(x) -> (z)
    """)
    assert plan.together("%x", "%a", "%b", "%y", "%z")
    assert plan.moves("arguments") == plan.moves("results") == (0, 0)


def test_what_lives_across_a_call_stays_out_of_its_frame() -> None:
    plan = plan_graph("""
        function f(%a: int32[8]) {
          %b: int32[8] = ADD(%a, %a)
          return %b
        }
        function main(%x: int32[8]) {
          %y: int32[8] = call f(%x)
          %z: int32[8] = call f(%y)
          %w: int32[8] = MUL(%y, %z)
          return %w
        }
        signature : main(x) -> (w)
    """)
    assert not plan.together("%y", "%a")
    assert plan.moves("results")[0] == 1


def test_a_view_of_a_constant_has_a_place_of_its_own() -> None:
    """No pass has folded it; its bytes are copied from flash."""
    plan = plan_graph("""
        constant #k: int32[2,4] = 1, 2, 3, 4, 5, 6, 7, 8
        constant #shape: int32[1] = 8
        function main(%x: int32[8]) {
          %y: int32[8] = RESHAPE(#k, #shape)
          %z: int32[8] = ADD(%x, %y)
          return %z
        }
        signature : main(x) -> (z)
    """)
    assert not plan.together("%x", "%y")
