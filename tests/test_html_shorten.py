"""Scripts as pages carry them: shorter, and doing the same."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.tools import need

from reports.html_script import OUTSIDE, PARTS, own
from reports.html_shorten import GLOBALS, own_names, shortened
from reports.words import languages, speaking

SNIPPETS = {
    "objects and patterns": """
        const name=1;
        function read({first,second=name,deep:{inner},...rest}){
          const made={first,name,second:5,rest,method(inner){return inner+name},[first+"x"]:second};
          return [made.first,made.method(second),made["2x"],rest.extra,inner,Object.keys(made)];
        }
        result=read({first:2,deep:{inner:3},extra:4});
    """,
    "defaults, spreads and arrows": """
        const last=([head,...tail],{by=2,to:limit=9}={})=>tail.length?last(tail,{by}):head*by+limit;
        const keyed=list=>({list,size:list.length}); // a comment with "quotes" and `ticks`
        result=[last([1,2,3]),keyed([1]),...[4].map(item=>({item}))];
    """,
    "templates": """
        const count=2,word="a";
        result=`${count} of ${[1,2].map(value=>`<${value}${{word}.word}>`).join("}")} \\${word} $x`;
    """,
    "regular expressions and division": """
        const text="a/b // c",half=text.length/2/1;
        result=[text.replace(/[/]b \\/\\/ /g,"-"),half,/[`"'{]/.test("{")?half/half:0];
    """,
    "classes": """
        class Base{
          constructor(value){this.value=value;this.made={}}
          get(value){return value??this.value}
        }
        class Other extends Base{twice(value){return super.get(value)*2}}
        result=[new Other(4).twice(),new Other(1).twice(3),new Base(2).value];
    """,
    "line ends": """
        let a=1
        const b=a
        +2
        function late(value){
          if(value)
            return value
          else return -1
        }
        const list=[
          late(0),
          b
        ]
        for(const item of list)
          a-=item
        do{a++}while(a<9)
        result=[a,b,- -a,a+ +b,list]
    """,
    "optional and nullish": """
        let kept;const of={value:{at:3}},box=null;
        kept??=of?.value?.at;
        result=[kept,box?.value??"none",of.value.at>2?.5:1,kept?{kept}:{of}];
    """,
    "loops and labels of objects": """
        const seen=[],rows={b:1,a:2};
        for(const key in rows){const value=rows[key];if(value>1)continue;seen.push({key,value})}
        for(const {key,value} of seen)seen[key]=value;
        try{missing()}catch{seen.push("caught")}
        result=[seen,seen.b,typeof seen];
    """,
}


def run(source: str) -> str:
    node = need("node", "what scripts do")
    code = f'"use strict";let result;\n{source}\nconsole.log(JSON.stringify(result));'
    done = subprocess.run([node, "-e", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_shortened_script_does_the_same(name: str) -> None:
    source = SNIPPETS[name]
    made = shortened(source, frozenset({"result", "console", "missing"}))
    assert run(made) == run(source)
    assert json.loads(run(made))
    assert len(made) < len(source) and "comment" not in made


def test_names_are_told_apart_and_properties_and_texts_stay() -> None:
    made = shortened('const one=1,two=2;const all={one,two,"one":two};all.one=`one ${one}`;')
    assert made == 'const a=1,b=2,c={one:a,two:b,"one":b};c.one=`one ${a}`;'


@pytest.mark.parametrize("language", languages())
def test_the_script_of_a_page_parses(language: str, tmp_path: Path) -> None:
    node = need("node", "what scripts do")
    path = tmp_path / "own.js"
    with speaking(language):
        path.write_text(own(language), "utf-8")
    subprocess.run([node, "--check", str(path)], check=True)


def test_only_names_that_the_script_binds_are_shortened(repository: Path) -> None:
    source = "".join((repository / "templates" / part).read_text("utf-8") for part in PARTS)
    bare = re.sub(r"^\s*//.*$", "", source, flags=re.MULTILINE)
    bound = {
        name
        for before, after in (
            (r"(?:const|let|function|class)\s+", ""),
            (r"[,({\[:]\s*(?:\.\.\.)?", r"\s*(?:=(?![=>])|[,)}\]])"),
            ("", "=>"),
        )
        for name in re.findall(rf"{before}(?<![\w$.])([A-Za-z_$][\w$]*)(?={after})", bare)
    }
    marks = {"_", "called", "named", "reasoned"}  # gone before a script is shortened
    assert own_names(source) - OUTSIDE - marks - bound == set()
    assert [name for name in GLOBALS if not re.search(rf"(?<![\w$.]){name}\b", bare)] == []
    assert re.findall(r"^(?:const|let) *[{\[]", bare, re.MULTILINE) == []


def test_names_in_a_row_share_their_const_and_lines_stay_where_they_end_a_statement() -> None:
    source = "let one=1\nconst two=2;\nconst three=()=>{};\nfoo\n(two);const last=one"
    made = shortened(source, frozenset({"foo"}))
    assert made == "let a=1\nconst b=2,c=()=>{};foo\n(b);const d=a"
