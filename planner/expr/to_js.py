"""Typed trees to JavaScript over a small runtime: failures NaN, flags 0, 1, NaN, choices words."""

from __future__ import annotations

import json
from collections.abc import Callable

from planner.expr.functions import FUNCTIONS, Argument, fill
from planner.expr.tree import Call, Name, Node, Number, Text

# One line per function of the table. Reductions take arrays (layer groups or variants).
RUNTIME = """\
const K=(()=>{
const F=x=>Number.isFinite(x)?x:NaN,B=(t,...a)=>a.some(x=>x!==x)?NaN:+t,G=1e-14;
const fold=f=>(...a)=>a.reduce((x,y)=>x!==x||y!==y?NaN:f(x,y));
const bad=a=>a.some(x=>x!==x),red=(f,a)=>bad(a)?NaN:f(a);
const K={
add:(a,b)=>F(a+b),sub:(a,b)=>F(a-b),mul:(a,b)=>F(a*b),div:(a,b)=>F(a/b),neg:a=>-a,
pow:(a,b)=>a!==a||b!==b?NaN:F(Math.pow(a,b)),
lt:(a,b)=>B(a<b,a,b),le:(a,b)=>B(a<=b,a,b),gt:(a,b)=>B(a>b,a,b),ge:(a,b)=>B(a>=b,a,b),
eq:(a,b)=>B(a===b,a,b),ne:(a,b)=>B(a!==b,a,b),
and:(...a)=>red(v=>+v.every(x=>x!==0),a),or:(...a)=>red(v=>+v.some(x=>x!==0),a),
not:a=>a!==a?NaN:+(a===0),if:(c,a,b)=>c!==c?NaN:c?a:b,
min:fold((x,y)=>x<y?x:y),max:fold((x,y)=>x>y?x:y),abs:Math.abs,sqrt:Math.sqrt,
exp:a=>F(Math.exp(a)),ln:a=>F(Math.log(a)),
floor:x=>Math.floor(x+Math.abs(x)*G),ceil:x=>-Math.floor(Math.abs(x)*G-x),
floordiv:(a,b)=>Math.floor(F(a/b)),ceildiv:(a,b)=>-Math.floor(F(-a/b)),
divides:(a,b)=>{const q=F(b/a);return B(Math.floor(q)*a===b,q)},
round_up_to:(a,b)=>-Math.floor(F(-a/b))*b,
count_places:(t,n)=>n>=0&&typeof t==="string"&&t.slice(0,1)<"0"?
t.slice(0,n).replace(/[.]/g,"").length:NaN,
known:x=>+(x===x),first_known:(...a)=>{const v=a.find(x=>x===x);return v===undefined?NaN:v},
unknown:()=>NaN,
sum_of:a=>F(a.reduce((x,y)=>x+y,0)),min_of:a=>red(v=>Math.min(...v),a),
max_of:a=>red(v=>Math.max(...v),a),first_of:a=>a[0],
all_of:a=>red(v=>+v.every(x=>x!==0),a),any_of:a=>red(v=>+v.some(x=>x!==0),a),
count_of:a=>red(v=>v.reduce((x,y)=>x+(y!==0),0),a)};
K.whole_down=K.floor;K.whole_up=K.ceil;
for(const n of["sum","min","max","any","all","count"])K[n+"_over"]=(v,a)=>K[n+"_of"](a);
return K})();
"""


Read = Callable[[str, bool], str]


def _plain(name: str, reduced: bool) -> str:
    return f"v.{name}"


def to_js(tree: Node, read: Read = _plain, *, reduced: bool = False) -> str:
    """A JavaScript expression over ``v`` (names to values) and the runtime ``K``.

    Args:
        tree: a typed tree.
        read: how a name is read, given the name and whether a reduction takes all of its values.
        reduced: the tree is what a reduction takes.
    """
    match tree:
        case Number(value=value):
            return repr(value)
        case Text(value=word):
            return json.dumps(word).replace("<", "\\u003c")
        case Name(name=name):
            return read(name, reduced)
        case Call(function=function, args=args):
            row = FUNCTIONS[function]
            if row.reduces == "variant":
                args = args[1:]
            inside = bool(row.reduces)
            done = [Argument(to_js(a, read, reduced=inside), 9) for a in args]
            if row.reduces == "variant":
                done.insert(0, Argument("0", 9))
            return fill(row.js, done, 9)
