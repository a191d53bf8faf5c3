// What if: some inputs replaced in every case, and all that follows from them computed again.
const section=el("section",{id:"what-if","aria-labelledby":"what-if-title"});
let soon; // with many cases a reader finishes typing first
const told=el("p",{class:"told",role:"status"});
// What the plan has of an input, in all its cases; the words of a choice, numbers of a flag.
const values=name=>{
  if(name in CASES)return [...new Set(CASES[name])];
  return [...new Set(name in doc.assumptions?[issued.case(0)[name]]:CASES.inputs[name])];
};
const fields=LIVE.controls.map(control=>({control,...fieldOf(control)}));
function plannedText(control){
  const found=values(control.name);
  if(control.what==="entry")return found.map(id=>labelOf(control.name,id)).join(", ");
  if(control.options.length)return found.map(x=>shownAs(control.name,x)).join(", ");
  const sorted=found.sort((a,b)=>a-b),one=x=>shownText(x/control.factor,control.whole?"count":"figure");
  return [...new Set([one(sorted[0]),one(sorted.at(-1))])].join(_(" to "));
}
function fieldOf(control){
  const id="if-"+control.name,planned=plannedText(control),said="planned-"+control.name;
  const common={id,name:control.name,"aria-describedby":said,change:()=>apply(),input:()=>{clearTimeout(soon);soon=setTimeout(apply,COUNT>200?250:0)}};
  const box=control.options.length
    ?el("select",common,el("option",{value:""},_("as planned")),...control.options.map(([v,l])=>el("option",{value:v},l)))
    :el("input",{...common,type:"number",step:control.whole?"1":"any",
      min:control.low===null?undefined:control.low/control.factor,max:control.high===null?undefined:control.high/control.factor});
  const short=planned.length>44?planned.slice(0,43)+"…":planned;
  return {box,node:el("div",{class:"field"},el("label",{for:id},control.label,control.unit?el("span",{class:"mute"}," "+control.unit):""),
    box,el("span",{class:"by",id:said},_("planned ")+short))};
}
const rest=fields.filter(f=>!f.control.main);
section.append(el("h2",{id:"what-if-title"},_("What if")),
  el("p",{class:"prose"},_("Replaces an input in every case and computes the figures of this page again, in the page itself. The plan that was issued stays as it is.")),
  el("form",{class:"fields",submit:e=>e.preventDefault(),reset:()=>setTimeout(apply)},
    ...fields.filter(f=>f.control.main).map(f=>f.node),
    rest.length?el("details",{class:"more"},el("summary",{},_("More inputs")),el("div",{class:"fields"},...rest.map(f=>f.node))):"",
    el("button",{type:"reset"},_("As planned"))),told);
document.getElementById("cases").before(section);
document.querySelector("nav ol a[href='#cases']").parentElement.before(el("li",{},el("a",{href:"#what-if"},_("What if"))));

function typed({control,box}){
  if(box.value==="")return box.validity?.badInput?NaN:undefined;
  if(control.options.length)return FIELDS[control.name]?.kind==="flag"?Number(box.value):box.value;
  const x=control.factor===0.01?Number(box.value)/100:Number(box.value)*control.factor;
  const low=control.low??-Infinity,high=control.high??Infinity;
  return x>=low&&x<=high&&(!control.whole||Number.isInteger(x))?x:NaN;
}
function apply(){
  clearTimeout(soon);
  const over={},wrong=[];
  for(const one of fields){
    const x=typed(one),bad=x!==x;
    one.box.toggleAttribute("aria-invalid",bad);
    if(bad){one.box.setAttribute("aria-invalid","true");wrong.push(one.control)}
    else if(x!==undefined)over[one.control.name]=x;
    hash(one.control.name,x===undefined||bad?null:one.box.value);
  }
  model=Object.keys(over).length?new Model(over):issued;
  document.body.classList.toggle("what-if",model!==issued);
  tell(over,wrong);
  draw();
}
function tell(over,wrong){
  const parts=wrong.map(c=>_`${c.label}: expected ${c.whole?_("a whole number"):_("a number")}`+
    (c.high===null?_` of at least ${figure(decimal(c.low/c.factor))}`:_` from ${figure(decimal(c.low/c.factor))} to ${figure(decimal(c.high/c.factor))}`)+` ${c.unit}`);
  if(model!==issued){
    drawVerdict();
    parts.push(_`${replacedTexts(over).join("; ")} in every case. ${verdict.textContent.replace(_("What if: "),"")}`);
    const beyond=range(COUNT).filter(i=>model.case(i).context>model.case(i).max_context).length;
    const long=range(COUNT).filter(i=>{const c=model.case(i);return c.cached_tokens+c.prompt_tokens+c.output_tokens>c.context}).length;
    if(beyond)parts.push(_`In ${beyond} the context is longer than the model was published for: a plan leaves them out.`);
    if(long)parts.push(_`In ${long} the request is longer than the context limit: a plan leaves them out.`);
  }
  told.replaceChildren(...parts.flatMap((p,i)=>[i?" ":"",i<wrong.length?el("span",{class:"v bad"},p):p]));
}

// ---- drawing -------------------------------------------------------------------------------------
let run=0;
const notes=new Map();
function mark(node,text){ // what stays as it was issued says so
  const live=model===issued;
  let note=notes.get(node);
  if(!note){note=el("span",{class:"not-live"},text);notes.set(node,note);node.append(note)}
  note.hidden=live;
}
function drawCell(cell){
  const ref=cell.$ref;
  cell.$first??=[[...cell.childNodes],cell.className];
  const was=cell.$was??=textOf(ref,issued),now=model===issued?was:textOf(ref);
  if((cell.$now??was)===now)return;
  cell.$now=now;
  cell.className=cell.$first[1].replace(" mute","");
  if(now===was){cell.replaceChildren(...cell.$first[0]);cell.className=cell.$first[1];return}
  const tone=WORDS_TONE[now];
  cell.classList.add("changed");
  if(now===_("unknown")||now==="\u2013")cell.classList.add("mute");
  cell.replaceChildren(tone?el("span",{class:"v "+tone},now):now,el("span",{class:"by"},_("was ")+was));
}
function drawTable(made){
  for(const row of made.body)for(const cell of row.cells)if(cell.$ref)drawCell(cell);
  if(!made.flipped)for(const row of made.body)tag(row);
  if(made.table.classList.contains("heat"))shade(made);
}
// A row that is named after what was replaced says so.
function tag(row){
  const changed=Object.entries(model.over).filter(([n,x])=>{
    const own=n in CASES?CASES[n]:CASES.inputs[n];
    return own&&values(n).length>1&&row.$cases.every(i=>own[i]!==x);
  }).map(([n,x])=>shownAs(n,x));
  let note=row.$tag;
  if(!note&&!changed.length)return;
  if(!note){note=row.$tag=el("span",{class:"by"});row.cells[0].append(note)}
  note.textContent=changed.length?_("what if: ")+changed.join(", "):"";
}
function drawTile(tile){
  const {m,c,pick}=tile.dataset,text=tile.querySelector(".tile-number"),below=tile.querySelector(".tile-bound");
  tile.$first??=[text.textContent,below.textContent,text.className];
  [text.textContent,below.textContent,text.className]=tile.$first;
  tile.$case=undefined;
  if(model===issued)return;
  const every=range(COUNT),fitting=every.filter(i=>model.case(i).verdict==="fits");
  if(pick==="fits"){text.textContent=`${fitting.length}${_(" of ")}${COUNT}`;text.className="tile-number asks";below.textContent=""}
  else{
    const among=(pick==="low-fitting"?fitting:every).filter(i=>at(model.case(i),m,0,0)===at(model.case(i),m,0,0));
    const sign=pick==="high"?-1:1,i=pick?among.sort((a,b)=>sign*(model.case(a)[m]-model.case(b)[m]))[0]:+c;
    tile.$case=i;
    text.textContent=i===undefined?_("unknown"):displayText(m,at(model.case(i),m,0,0));
    if(i!==undefined&&pick)below.textContent=[labelOf("model",CASES.model[i]),labelOf("gpu",model.chosen("gpu",i)),CASES.workload[i]].join(" · ");
  }
  if(text.textContent!==tile.$first[0])below.textContent=_`${below.textContent} (was ${tile.$first[0]})`.trim();
}
function drawFigure(one){ // a figure within text: of the whole plan, or the same in all rows
  const m=one.dataset.m,d=+(one.dataset.d||0);
  one.$first??=one.textContent;
  if(model===issued||!LIVE.shown[m]){one.textContent=one.$first;return}
  const [factor,kind]=LIVE.shown[m],show=x=>shownText(typeof x==="string"||kind==="share"?x:x/factor,kind,d);
  if(one.dataset.c===undefined){one.textContent=show(model.all[m]);return}
  const [t,g]=(one.dataset.p||"0 0").split(" ").map(Number);
  const found=[...new Set(range(COUNT).map(i=>at(model.case(i),m,t,g)))];
  const order=typeof found[0]==="string"?found:found.sort((a,b)=>a-b);
  one.textContent=[...new Set([show(order[0]),show(order.at(-1))])].join(_(" to "));
}
function shade({body}){
  const cells=body.flatMap(r=>[...r.cells]).filter(c=>c.$ref);
  const known=cells.map(c=>{const x=valueOf(c.$ref);return isAbsent(c.$ref,x)||!(x>0)?NaN:Math.log(x)});
  const low=Math.min(...known.filter(x=>x===x)),high=Math.max(...known.filter(x=>x===x));
  cells.forEach((cell,i)=>{
    cell.className=cell.className.replace(/ ?\bh\d\b/,"");
    if(known[i]===known[i]&&high>low)cell.classList.add("h"+Math.min(5,Math.floor((known[i]-low)/(high-low)*6)));
  });
}
const verdict=document.querySelector(".verdict .v"),verdictFirst=[verdict.textContent,verdict.className];
function drawVerdict(){
  [verdict.textContent,verdict.className]=verdictFirst;
  if(model===issued)return;
  const words=of=>range(COUNT).map(i=>of.case(i).verdict),fits=of=>words(of).filter(w=>w==="fits").length;
  const left=words(model).filter(w=>w!==w||w==="unknown").length;
  verdict.textContent=_`What if: ${fits(model)} of ${COUNT} cases fit the planned batch${left?_`; ${left} unknown`:""} (issued: ${fits(issued)}).`;
  verdict.className="v "+(fits(model)===COUNT?"good":fits(model)||left?"warn":"bad");
}
const fixed=[...document.querySelectorAll("figure,.fixed,#glossary>.prose,#checks>.prose,#assumptions>.prose")];
const figures=[...document.querySelectorAll("dd b[data-m],.note b[data-m]")],tiles=[...document.querySelectorAll(".tiles li")];
async function draw(){
  const mine=++run;
  for(const one of fixed)mark(one,_(" As issued, not live."));
  drawVerdict();
  tiles.forEach(drawTile);
  figures.forEach(drawFigure);
  for(const made of tables){
    drawTable(made);
    if(made.body.length>40)await new Promise(done=>setTimeout(done)); // the reader goes on typing
    if(mine!==run)return;
  }
  for(const made of tables)if(made.sorted)arrange(made);
}

// ---- what the address asks for -------------------------------------------------------------------
function follow(){
  if(asksNothing())return;
  const wanted=address();
  search.value=wanted.get("q")||"";
  filterRows(search.value);
  sortAsAsked();
  let changed=false;
  for(const {control,box} of fields){
    const x=wanted.get(control.name)??"";
    if(box.value!==x){box.value=x;changed=true;if(x&&!control.main)box.closest("details").open=true}
  }
  if(changed)apply();
  const [m,id,set,r]=(wanted.get("explain")||"").split("@"),i=CASES.id.indexOf(id);
  const rung=set in VARIANTS&&+r in doc.ladders[set]?{set,r:+r}:{},ref={m,i,t:0,g:0,...rung};
  if(i<0||!WORDS[m]||trail.length&&nameOfFigure(trail.at(-1))===nameOfFigure(ref))return;
  explain(ref);
}
addEventListener("hashchange",follow);
addEventListener("beforeprint",()=>{if(dialog.open)dialog.close()});
follow();
// For a console and for tests: any figure of any case under any replaced inputs.
globalThis.capsheet=Object.freeze({
  model:over=>new Model(over,true),count:COUNT,metrics:Object.keys(F),
  value:(model,name,i)=>grainOf(name)?model.case(i)[name]:model.all[name],
  texts:()=>tables.flatMap(t=>t.body.flatMap(r=>[...r.cells].filter(c=>c.$ref).map(c=>[c.$ref.m,c.textContent,textOf(c.$ref,new Model({},false))]))),
  explain:(name,i)=>explain({m:name,i,t:0,g:0}),
  numbers:(name,i)=>putIn(issued.case(i),name,0,0),
});
