// Every figure explains itself: the formula, the same with numbers put in, and what stands behind it.
const labelOf=(kind,id)=>doc.labels[kind]?.[id]??ENTRIES[kind]?.[id]?.label??id;
const nameOf=n=>named(n,METRICS[n]?.label??FIELDS[n]?.label??n.replaceAll("_"," "));
const caseName=i=>[labelOf("model",CASES.model[i]),labelOf("gpu",CASES.gpu[i]),CASES.id[i]].join(" · ");
// What was replaced, as people read it.
const fieldOf=name=>fields.find(f=>f.name===name);
function shownAs(name,x){
  const {box,factor,whole,unit}=fieldOf(name);
  if(box.options)return [...box.options].find(o=>o.value===String(x)).text;
  return `${shownText(x/factor,whole?"count":"figure")} ${unit}`.trim();
}
const replacedText=()=>joined(Object.entries(model.over).map(([n,x])=>`${fieldOf(n).label} ${shownAs(n,x)}`));

// ---- formulas with numbers put in ----------------------------------------------------------------
const WORDS=LIVE.words,usedIn=n=>unique([...WORDS[n].matchAll(/\{(\w+)\}/g)].map(m=>m[1]));
const setIn=n=>Object.keys(VARIANTS).find(v=>new RegExp(`\\b${v}\\b`).test(WORDS[n].replace(/\{\w+\}/g,"")));
const stagesOf=i=>CASES.inputs.pp?.[i]??1,groupsOf=i=>Math.min(SLOTS,doc.groups[CASES.model[i]].length);
const ofGroups=k=>k===2||k===4,LISTED=8;
function listed(values,name){
  const unit=unitOf(name),texts=values.slice(0,LISTED).map(x=>flagText(x,name));
  if(values.length>LISTED)texts.push(_`and ${values.length-LISTED} more`);
  return `[${joined(texts)}]`+(unit==="1"?"":" "+unit);
}
// One value, or all of a row of variants, stages or groups where no place is given.
function putAt(c,n,set,t,g){
  if(set&&moves(set,n))return listed(doc.ladders[set].map((_,r)=>c.child(set,r)[n]),n);
  const k=grainOf(n),found=[];
  for(const a of k<3?[0]:t===null?range(stagesOf(c.i)):[t])
    for(const b of !ofGroups(k)?[0]:g===null?range(groupsOf(c.i)):[g])found.push(at(c,n,a,b));
  return k>2&&t===null||ofGroups(k)&&g===null?listed(found,n):exact(found[0],n);
}
const placesIn=(c,name,t,g)=>{const k=grainOf(name);return [k>2?t:stagesOf(c.i)===1?0:null,ofGroups(k)?g:null]};
const putIn=(c,name,t,g)=>WORDS[name].replace(/\{(\w+)\}/g,(_,n)=>putAt(c,n,setIn(name),...placesIn(c,name,t,g)));

// ---- where an input comes from -------------------------------------------------------------------
function originOf(c,name){
  if(name in CONSTANTS)return joined([_("constant"),reasoned(name,CONSTANTS[name].meaning)]);
  const {entity,meaning}=FIELDS[name],{over}=model,why=reasoned(name,meaning);
  const kind=entity==="group"?"model":entity,entry=kind in CASES&&over[kind];
  if(name in over||entry)return joined([_("what if"),entry?labelOf(kind,entry):_("typed into this page"),why,...entry&&ENTRIES[kind]?.[entry]?.sources||[]]);
  if(entity==="stage")return joined([_("counted"),why]);
  const id=kind==="case"||kind==="plan"?0:model.chosen(kind,c.i);
  const found=!id?doc.origins[name]:entity==="group"?doc.groups[id][0].facts[name]:doc.facts[kind][id][name];
  const where=id?`${labelOf(kind,id)}, ${found.place}`:found.where||found.place||"";
  const sources=id?found.source.map(s=>sourceText(kind,id,s)):found.sources.map(s=>sourceText("engine",ENGINE,s));
  return joined([called(found.kind||"catalog"),called(where),called(found.confidence),found.note,why,...sources]);
}
function sourceText(kind,id,title){
  const one=doc.sources[kind]?.[id]?.[title];
  return one?joined([one.title,one.url,one.read&&_("read ")+one.read],", "):title;
}

// ---- the dialog ----------------------------------------------------------------------------------
const dialog=put(find("dialog",extras),{close(){if(!dialog.open){trail.length=0;hash("explain")}},click(e){if(e.target===dialog)dialog.close()}});
document.body.append(dialog);
const trail=[];
function explain(ref){
  trail.push({t:0,g:0,...ref});
  drawExplanation();
  if(!dialog.open)dialog.showModal();
  find("#explain-title").focus();
  hash("explain",addressOf(ref));
}
const addressOf=ref=>[ref.m,CASES.id[ref.i],...(ref.set?[ref.set,ref.r]:[])].join("@");
function drawExplanation(){
  const ref=trail.at(-1),{m,i,t,g,set}=ref,c=caseAt(ref),x=valueOf(ref),shown=LIVE.shown[m],grain=grainOf(m);
  const where=joined([caseName(i),...set?replacedBy(set).map(n=>`${nameOf(n)} ${exact(c[n],n)}`):[],
    grain>2&&stagesOf(i)>1&&_`stage ${t+1}`,
    ofGroups(grain)&&_`layer group ${g+1}, ${called(doc.groups[CASES.model[i]][g].label)}`]," · ");
  dialog.replaceChildren(
    el("div.explain-head",
      trail.length>1&&button(_("Back"),()=>explain(trail.splice(-2)[0])),
      button(_("Copy"),()=>copy(`${nameOf(m)}: ${exact(x,m)} (${where})`)),
      button(_("Close"),()=>dialog.close())),
    el("h2",{id:"explain-title",tabindex:"-1"},nameOf(m)),
    el("p.explain-value",el("b",displayText(m,x)),` ${shown?.[2]??""}`,
      shown&&shown[0]!==1&&x===x&&el("span.mute",` = ${exact(x,m)}`)),
    el("p.note",where),
    model!==issued&&el("p.note",el("span.v.warn",_("what if")),_` ${replacedText()}; issued: ${displayText(m,valueOf(ref,issued))}`),
    ...METRICS[m]?ofMetric(c,ref):[el("p",originOf(c,m))]);
}
function ofMetric(c,{m,t,g}){
  const {source,why}=METRICS[m],over=doc.declarations.replaced?.[m];
  return [
    el("p",reasoned(m,why)),
    el("p.code",el("code",`${m} = ${WORDS[m].replace(/[{}]/g,"")}`)),
    el("p.worked",{id:"explain-numbers"},`= ${putIn(c,m,t,g)} = ${exact(at(c,m,t,g),m)}`),
    grainOf(m)===0&&COUNT>1&&el("p.note",_`Over all ${COUNT} cases; the numbers are those of this one.`),
    el("div.scroll",el("table.text",el("caption",_("What it is made of")),
      el("tbody",...usedIn(m).map(n=>operand(c,m,n,t,g))))),
    over&&el("p.note",_`Replaced: ${over[1]}`),
    el("p.note",_("Source: "),/^https?:\/\/\S+$/.test(source.url)?el("a",{href:source.url,rel:"noreferrer noopener"},source.title):source.title,
      ". ",el("a",{href:`#m-${m}`,click:()=>dialog.close()},_("In the glossary")))];
}
function operand(c,m,n,t,g){
  const here=placesIn(c,m,t,g);
  const deeper=F[n]?button(nameOf(n),()=>explain({m:n,i:c.i,t:here[0]??0,g:here[1]??0,set:c.set,r:c.rung}),".deep"):nameOf(n);
  return el("tr",el("th",{scope:"row"},deeper),el("td.n",putAt(c,n,setIn(m),...here)),
    el("td.prosecell",F[n]?reasoned(n,METRICS[n].why):originOf(c,n)));
}
