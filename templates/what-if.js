// What if: some inputs replaced in every case, and all that follows from them computed again.
const every=range(COUNT),form=find("form",extras),told=find(".told",extras);
// The lowest and the highest of some values, as a text; of words the first and the last.
const spanOf=(xs,show)=>unique([isText(xs[0])?xs[0]:xs.sort((a,b)=>a-b)[0],xs.at(-1)].map(show)).join(_(" to "));
const fields=LIVE.controls.map(control=>({...control,box:find("#if-"+control.name,extras)}));
find("#cases").before(find("section",extras));
find("nav [href='#cases']").parentElement.before(find("li",extras));
// With many cases a reader finishes typing first.
let soon;
put(form,{
  input(){clearTimeout(soon);soon=setTimeout(apply,COUNT>200?250:0)},
  change:apply,submit:e=>e.preventDefault(),reset:()=>setTimeout(apply),
});

function typed({name,factor,low,high,whole,box}){
  if(box.value==="")return box.validity.badInput?NaN:undefined;
  if(box.options)return FIELDS[name]?.kind==="flag"?+box.value:box.value;
  const x=factor===0.01?box.value/100:box.value*factor;
  return x>=(low??-Infinity)&&x<=(high??Infinity)&&(!whole||Number.isInteger(x))?x:NaN;
}
function apply(){
  clearTimeout(soon);
  const over={},wrong=[];
  for(const one of fields){
    const x=typed(one),bad=x!==x;
    one.box.ariaInvalid=bad||null;
    if(bad)wrong.push(one);else if(x!==undefined)over[one.name]=x;
    hash(one.name,x===undefined||bad?null:one.box.value);
  }
  model=Object.keys(over).length?new Model(over):issued;
  document.body.classList.toggle("what-if",model!==issued);
  tell(wrong);
  draw();
}
function tell(wrong){
  const bound=(one,x)=>figure(decimal(x/one.factor)),count=test=>every.filter(i=>test(model.case(i))).length;
  const parts=wrong.map(one=>el("span.v.bad",_`${one.label}: expected ${one.whole?_("a whole number"):_("a number")}`+
    (one.high===null?_` of at least ${bound(one,one.low)}`:_` from ${bound(one,one.low)} to ${bound(one,one.high)}`)+` ${one.unit}`));
  if(model!==issued){
    drawVerdict();
    parts.push(_`${replacedText()} in every case. ${verdict.textContent.replace(_("What if: "),"")}`);
    const beyond=count(c=>c.context>c.max_context),long=count(c=>c.cached_tokens+c.prompt_tokens+c.output_tokens>c.context);
    if(beyond)parts.push(_`In ${beyond} the context is longer than the model was published for: a plan leaves them out.`);
    if(long)parts.push(_`In ${long} the request is longer than the context limit: a plan leaves them out.`);
  }
  told.replaceChildren(...parts.flatMap((p,i)=>i?[" ",p]:[p]));
}

// ---- drawing -------------------------------------------------------------------------------------
const first=new Map(),notes=new Map();
// A node as it was issued, whatever was drawn since.
function restored(node){
  const [inside,name]=first.get(node)||[];
  if(inside){node.replaceChildren(...inside);node.className=name}
  else first.set(node,[[...node.childNodes],node.className]);
  return node;
}
// What stays as it was issued says so; what is drawn again says of what.
function mark(node,text){
  let note=notes.get(node);
  if(!note)notes.set(node,note=node.appendChild(el("span.not-live")));
  note.textContent=text;
  note.hidden=model===issued;
}
const TONES={[_("fits")]:"good",[_("does not fit")]:"bad"};
function drawCell(cell){
  const was=cell.$was??=textOf(cell.$ref,issued),now=model===issued?was:textOf(cell.$ref);
  if((cell.$now??was)===now)return;
  cell.$now=now;
  restored(cell);
  if(now===was)return;
  cell.classList.remove("mute");
  cell.classList.add("changed",...now===_("unknown")||now==="\u2013"?["mute"]:[]);
  cell.replaceChildren(TONES[now]?el("span.v."+TONES[now],now):now,el("span.by",_("was ")+was));
}
function drawTable({rows,flipped,parts}){
  const cells=rows.flatMap(r=>r.cells).filter(c=>c.$ref);
  cells.forEach(drawCell);
  if(!flipped)rows.forEach(tag);
  if(parts[0].classList.contains("heat"))shade(cells);
}
// A row that is named after what was replaced says so.
function tag({cases,trs}){
  const changed=joined(Object.entries(model.over).map(([n,x])=>{
    const own=CASES[n]??CASES.inputs[n];
    return own&&unique(own).length>1&&cases.every(i=>own[i]!==x)&&shownAs(n,x);
  }),", ");
  for(const tr of trs)if(tr.$tag||changed)(tr.$tag??=tr.cells[0].appendChild(el("span.by"))).textContent=changed&&_("what if: ")+changed;
}
function drawTile(tile){
  const {m,c,pick}=tile.dataset,text=restored(find(".tile-number",tile)),below=restored(find(".tile-bound",tile));
  const was=text.textContent,read=i=>at(model.case(i),m);
  text.$ref.i=parseInt(c||0);
  if(model===issued)return;
  if(pick==="fits"){text.textContent=fitting(model).length+_(" of ")+COUNT;text.className="tile-number asks";below.textContent=""}
  else{
    const known=(pick==="low-fitting"?fitting(model):every).filter(i=>read(i)===read(i)).sort((a,b)=>read(a)-read(b));
    const i=pick==="high"?known.at(-1):pick?known[0]:+c;
    text.textContent=i===undefined?_("unknown"):displayText(m,read(i));
    if(i!==undefined&&pick){
      text.$ref.i=i;
      below.textContent=joined([labelOf("model",CASES.model[i]),labelOf("gpu",model.chosen("gpu",i)),CASES.workload[i]]," · ");
    }
  }
  if(text.textContent!==was)below.textContent=_`${below.textContent} (was ${was})`.trim();
}
// A figure within text: of the whole plan, or the same in all rows.
function drawFigure(one){
  const {m,c,d}=one.dataset,{t,g}=one.$ref;
  restored(one);
  if(model!==issued&&LIVE.shown[m])one.textContent=spanOf(c===undefined?[model.all[m]]:every.map(i=>at(model.case(i),m,t,g)),x=>displayText(m,x,+(d||0)));
}
function shade(cells){
  const logs=cells.map(c=>{const x=valueOf(c.$ref);return isAbsent(c.$ref,x)||!(x>0)?NaN:Math.log(x)}),known=logs.filter(x=>x===x);
  const low=Math.min(...known),span=Math.max(...known)-low;
  cells.forEach((cell,i)=>{
    cell.className=cell.className.replace(/ ?\bh\d\b/,"");
    if(logs[i]===logs[i]&&span>0)cell.classList.add("h"+Math.min(5,Math.floor((logs[i]-low)/span*6)));
  });
}
const verdict=find(".verdict .v"),fitting=of=>every.filter(i=>of.case(i).verdict==="fits");
function drawVerdict(){
  restored(verdict);
  if(model===issued)return;
  const held=fitting(model).length,left=every.filter(i=>["unknown",NaN].includes(model.case(i).verdict)).length;
  verdict.textContent=_`What if: ${held} of ${COUNT} cases fit the planned batch${left?_`; ${left} unknown`:""} (issued: ${fitting(issued).length}).`;
  verdict.className="v "+(held===COUNT?"good":held||left?"warn":"bad");
}
const charts=findAll("[data-live]").map(g=>g.closest("svg")),tiles=findAll(".tiles li"),figures=findAll("dd b[data-m],.note b[data-m]");
const fixed=findAll("figure,.fixed,#glossary>.prose,#checks>.prose,#assumptions>.prose").filter(n=>!find("[data-live]",n));
let run=0;
async function draw(){
  const mine=++run;
  for(const one of fixed)mark(one,_(" As issued, not live."));
  drawVerdict();
  tiles.forEach(drawTile);
  figures.forEach(drawFigure);
  for(const one of [...charts,...tables]){
    if(one.rows)drawTable(one);
    else{
      drawChart(one);
      mark(one.parentElement,_` What if: ${replacedText()}; rows and their names as issued.`);
    }
    // The reader of many cases goes on typing.
    if(COUNT>40)await new Promise(done=>setTimeout(done));
    if(mine!==run)return;
  }
  for(const made of tables)if(made.sorted)arrange(made);
}

// ---- what the address asks for -------------------------------------------------------------------
function follow(){
  if(asksNothing())return;
  const wanted=address();
  filterRows(search.value=wanted.get("q")||"");
  sortAsAsked();
  let changed=false;
  for(const {name,box} of fields){
    const x=wanted.get(name)??"",folded=box.closest("details");
    if(box.value!==x){box.value=x;changed=true;if(x&&folded)folded.open=true}
  }
  if(changed)apply();
  const [m,id,set,r]=(wanted.get("explain")||"").split("@"),i=CASES.id.indexOf(id);
  const ref={m,i,...set in VARIANTS&&r in doc.ladders[set]?{set,r:+r}:{}};
  if(i>=0&&WORDS[m]&&!(trail.length&&addressOf(trail.at(-1))===addressOf(ref)))explain(ref);
}
put(globalThis,{hashchange:follow,beforeprint(){if(dialog.open)dialog.close()}});
follow();
// For a console and for tests: any figure of any case under any replaced inputs.
globalThis.capsheet={Model,issued,F,COUNT,tables,textOf,explain,putIn};
