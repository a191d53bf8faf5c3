// The plan computes here as it does in Python: same formulas, same inputs. A value that is not known
// is NaN, a flag 0 or 1, a choice its word; finer values are arrays by layer group and by stage.
const range=n=>[...Array(n).keys()];
const mapped=(o,f)=>Object.fromEntries(Object.entries(o).map(([k,x])=>[k,f(x,k)]));
const CODES=range(92).map(i=>String.fromCharCode(i+35)).filter(c=>!"<>&\\".includes(c));
const CODE_AT=Object.fromEntries(CODES.map((c,i)=>[c,i]));
function unpack(x){
  if(Array.isArray(x))return x.map(y=>y&&typeof y==="object"?unpack(y):y);
  if(!x||typeof x!=="object")return x;
  if("all" in x)return Array(x.n).fill(x.all);
  const {of,at}=x;
  if(of.length<=CODES.length)return [...at].map(c=>of[CODE_AT[c]]);
  return range(at.length/2).map(i=>of[CODE_AT[at[2*i]]*CODES.length+CODE_AT[at[2*i+1]]]);
}
const doc=JSON.parse(find("#plan-data").textContent);
// Cases as columns: packed ones are, a few stand as a list.
const columns=(packed,rows)=>mapped(packed,(x,k)=>k==="inputs"?columns(x,rows&&rows.map(r=>r.inputs)):rows?rows.map(r=>r[k]):unpack(x));
const CASES=Array.isArray(doc.cases)?columns(doc.cases[0],doc.cases):columns(doc.cases);
const COUNT=CASES.id.length,SLOTS=6,STAGES=Math.max(...(CASES.inputs.pp||[1]));
const FIELDS=doc.declarations.fields,CONSTANTS=doc.declarations.constants||{};
const VARIANTS=doc.declarations.variants||{},METRICS=doc.declarations.metrics;
const ENGINE=Object.keys(doc.facts.engine)[0];
const FOLLOWS=mapped(LIVE.follows,f=>new Set(f));
const ENTRIES=mapped(LIVE.entries,({fields,rows})=>Object.fromEntries(rows.map(([id,label,values,sources])=>
  [id,{label,sources,facts:Object.fromEntries(fields.map((n,i)=>[n,values[i]]))}])));
// A set of variants replaces inputs rung by rung; a rung without a value keeps the case's own.
const replacedBy=set=>[].concat(VARIANTS[set].replaces);
const moves=(set,n)=>FOLLOWS[set].has(n)||replacedBy(set).includes(n)||n in (VARIANTS[set].follows||{});
const number=x=>x===null||x===undefined?NaN:typeof x==="boolean"?+x:x;
const grainOf=n=>F[n]?F[n][0]:FIELDS[n]?({plan:0,group:2,stage:3}[FIELDS[n].entity]??1):0;
const stored={};
function planned(name,i){
  const grain=F[name][0],x=stored[name]??=unpack(doc.values[name]),at=y=>Array.isArray(y[0])?y.map(at):number(y[i]);
  return !grain?number(x):grain===3?at(x).flat():at(x);
}
function fact(kind,id,name){
  const own=doc.facts[kind]?.[id];
  return number(own?own[name]?.value:ENTRIES[kind]?.[id]?.facts[name]);
}
// All cases of the plan with some inputs replaced; without any, figures are those that were issued.
class Model{
  constructor(over={},compute=Object.keys(over).length>0){Object.assign(this,{over,compute,made:[],all:new All(this)})}
  case(i){return this.made[i]??=new Case(this,i)}
  chosen(kind,i){return kind==="engine"?ENGINE:this.over[kind]??CASES[kind][i]}
}
class Case{
  constructor(model,i,parent,set,rung){Object.assign(this,{model,i,parent,set,rung,$:[],children:{}})}
  child(set,rung){return (this.children[set]??=[])[rung]??=new Case(this.model,this.i,this,set,rung)}
}
class All{constructor(model){this.model=model;this.$=[]}}
function input(c,name){
  if(c.parent)return replaced(c,name)??c.parent[name];
  const {entity,kind,words}=FIELDS[name],{over}=c.model;
  if(entity==="plan"){
    const x=number(over[name]??doc.assumptions[name]);
    return kind==="choice"&&words[x]!==undefined?words[x]:x;
  }
  if(entity==="case")return number(over[name]??CASES.inputs[name]?.[c.i]);
  if(entity==="stage")return range(STAGES);
  const id=c.model.chosen(entity==="group"?"model":entity,c.i);
  if(entity!=="group")return fact(entity,id,name);
  // What a slot has that the model does not use.
  const empty=kind==="places"?".":0;
  return range(SLOTS).map(g=>doc.groups[id][g]?number(doc.groups[id][g].facts[name].value):empty);
}
function replaced(c,name){
  const place=replacedBy(c.set).indexOf(name),rung=doc.ladders[c.set][c.rung];
  if(place>=0)return Array.isArray(rung)?rung[place]:rung;
  const metric=VARIANTS[c.set].follows?.[name];
  return metric&&c[metric];
}
function compute(c,name){
  const [grain,f,set]=F[name];
  if(grain===0&&!set)return c.model.all[name];
  if(c.parent&&!FOLLOWS[c.set].has(name))return c.parent[name];
  if(set)return doc.ladders[set].map((_,r)=>f(c.child(set,r)));
  if(!c.model.compute&&!c.parent&&name in doc.values)return planned(name,c.i);
  if(grain===1)return f(c);
  if(grain===2)return range(SLOTS).map(g=>f(c,g));
  return range(STAGES).map(t=>grain===3?f(c,t):range(SLOTS).map(g=>f(c,t,g)));
}
function overall(all,name){
  const {model}=all,own=F[name];
  // A row of variants is that of any case; so is an input of the plan.
  if(own?own[0]===0&&own[2]:FIELDS[name].entity==="plan")return model.case(0)[name];
  if(!own||own[0]>0)return range(COUNT).map(i=>model.case(i)[name]);
  return !model.compute&&name in doc.values?planned(name,0):own[1](all);
}
let slot=0;
for(const [names,make] of [[F,compute],[FIELDS,input]])for(const name in names){
  // A place in an array is found faster than a name.
  const own=slot++,kept=of=>({get(){return this.$[own]??=of(this,name)}});
  Object.defineProperty(Case.prototype,name,kept(make));
  Object.defineProperty(All.prototype,name,kept(overall));
}
for(const name in CONSTANTS)for(const kind of [Case,All])kind.prototype[name]=number(CONSTANTS[name].value);
const at=(c,name,t=0,g=0)=>{const x=c[name],k=grainOf(name);return k===2?x[g]:k===3?x[t]:k===4?x[t][g]:x};
let model=new Model();
const issued=model;
