// Charts drawn again from live figures: Python says in data-live what the shapes stand for and where
// rows and axes are; lengths, ticks and texts follow here, their looks from the page's style.
const ACROSS=640,BASE=4.3;
const wide=(s,size=11)=>[...s].reduce((w,c)=>w+(c>"\u2e80"?1:c<"0"?.35:.62),0)*size;
const clamp=(x,low,high)=>Math.max(low,Math.min(x,high));
const drawn=(m,c)=>at(c,m)/(LIVE.shown[m]?.[0]??1),byPlace=(a,b)=>a.x-b.x;
// The lowest and the highest over the cases of a figure, or what is not known.
function ends([m,...cases]){
  const xs=cases.map(i=>drawn(m,model.case(i))).filter(x=>x===x);
  return xs.length?unique([Math.min(...xs),Math.max(...xs)]):[NaN];
}
let plot;
const shape=(kind,attributes,s)=>plot.append(el(kind,attributes,s));
const text=(look,x,y,s)=>shape("text"+look,{x,y},s),line=(look,...points)=>shape("polyline"+look,{points:points.join(" ")});
const block=(x,y,width,height,fill,stroke)=>shape("rect",{x,y,width,height,fill,stroke});
// A line that stays apart from the shapes that it crosses.
const cased=(look,...points)=>{line(".page",...points);line(look,...points)};
// Labels along a line, as near to their places as their widths allow.
function spread(tags,low,high=ACROSS,gap=10){
  tags.sort(byPlace);
  let edge=low;
  for(const t of tags){t.at=Math.max(t.x,edge+t.w/2);edge=t.at+t.w/2+gap}
  edge=high;
  for(const t of [...tags].reverse()){t.at=Math.min(t.at,edge-t.w/2);edge=t.at-t.w/2-gap}
  return tags;
}
const sized=t=>({...t,w:wide(t.s)}),under=t=>clamp(t.x,t.at-t.w/2+3,t.at+t.w/2-3),lean=t=>t.off===2?".m.i":".m";
function bars({kind,left,top,bottom,middles,lines,bars}){
  const seen=x=>shownText(x,kind);
  const marksOf=(marks,end,span)=>(marks||[]).flatMap(([name,tone,of])=>ends(of||span).map(v=>({v,tone,s:`${name} ${seen(v)}`})))
    .filter((m,i,all)=>(m.tone||m.v<end)&&all.findIndex(o=>o.s===m.s)===i);
  let group;
  bars.forEach((b,i)=>{
    b.y=middles[i];b.v=ends(b.of)[0];b.length=b.v>0?b.v:0;b.ticks=marksOf(b.marks,b.v,b.span);
    b.s=seen(b.v);b.note=(b.words||"").replace("{}",b.span&&ends(b.span).map(x=>shownText(x,b.kind)).join(_(" to ")));
    if(b.first||!i)group=[];
    (b.group=group).push(b.v);
  });
  for(const b of bars)if(b.longest&&b.v===Math.max(...b.group))b.note=b.longest;
  const across=marksOf(lines),lengths=bars.map(b=>b.length),far=3*Math.max(...lengths)||Infinity;
  const high=Math.max(...lengths,...[...across,...bars.flatMap(b=>b.ticks)].map(m=>m.v).filter(v=>v<=far))||1;
  const right=Math.max(left+30,ACROSS-18-Math.max(...bars.map(b=>wide(b.s,12)+wide(b.note))));
  const place=v=>left+clamp(v/high,0,1)*(right-left);
  const tag=m=>sized(m.v!==m.v?{...m,x:left,off:2,tone:"muted"}:m.v>high?{...m,x:ACROSS,s:m.s+" \u2192",off:1}:{...m,x:place(m.v)});
  for(const b of bars)if(b.length)block(left,b.y-7,Math.max(place(b.v)-left,1.5),14,"var(--series-1)");
  line("",[left,top],[left,bottom]);
  for(const t of spread(across.map(tag),0)){
    text(lean(t)+"."+t.tone,t.at,top-16,t.s);
    if(!t.off)cased("."+t.tone,[under(t),top-12],[t.x,top-4],[t.x,bottom]);
  }
  for(const b of bars){
    const ticks=b.ticks.map(tag),crossed=[...ticks,...across.map(tag)].filter(t=>!t.off).sort(byPlace);
    const beside=(x,w,room)=>crossed.reduce((x,t)=>x-4<t.x&&t.x<x+w+3&&t.x+5+room<=ACROSS?t.x+5:x,x);
    for(const t of spread(ticks.filter(t=>t.tone),left)){
      block(t.at-t.w/2,b.y+10,t.w,13,"var(--page)");
      text(lean(t)+(t.tone==="accent"?".accent":""),t.at,b.y+20,t.s);
    }
    for(const t of ticks)if(!t.off)cased("."+(t.tone||"ink"),[t.x,b.y-10],[t.x,b.y+10]);
    const w=wide(b.s,12),n=wide(b.note),x=beside(place(b.length)+5,w,w+n+6);
    text(b.v===b.v?".b.h.ink":".b.h.i",x,b.y+BASE,b.s);
    text(".h",beside(x+w+6,n,n),b.y+BASE,b.note);
  }
}
function stacks({kind,digits,left,middles,depths,names,rows},svg){
  const seen=([m,i])=>{const v=drawn(m,model.case(i));return {v,length:v>0?v:0,s:shownText(v,kind,digits)}};
  for(const r of rows){
    r.parts=r.parts.map(([n,of])=>({...seen(of),n:names[n]}));
    r.limit=r.parts.some(o=>o.v<0)&&r.limit&&{...seen(r.limit[1]),n:r.limit};
    r.length=r.parts.reduce((w,o)=>w+o.length,0);
  }
  const far=Math.max(...rows.flatMap(r=>[r.length,r.limit.length||0]))||1,place=v=>left+v/far*(ACROSS-2-left);
  const labels=findAll("g:not([data-live])",svg),crowded=tags=>spread(tags,left).some(t=>!t.off&&Math.abs(t.at-t.x)>t.w/2+14);
  let moved=0;
  rows.forEach(({parts,limit},i)=>{
    const y=middles[i]+moved,below=[];
    labels[i].setAttribute("transform",`translate(0 ${moved})`);
    let end=0,depth=0;
    for(const {n:[name,fill,edge,ink],v,length,s} of parts){
      const x=place(end),w=Math.max(place(end+=length)-x,1),tag=sized({s:`${name} ${s}`,x:x+(length&&w/2),off:length?0:v===v?1:2});
      if(length)block(x+.5,y-11.5,Math.max(w-2,1),23,fill,edge);
      if(length&&wide(tag.s,12)+10<=w)shape("text.b",{x:x+6,y:y+BASE,fill:ink},tag.s);else below.push(tag);
    }
    if(limit){
      const x=place(limit.length);
      cased(".ink",[x,y-16],[x,y+16]);
      below.push(sized({s:`${limit.n[0]} ${limit.s}`,x}));
    }
    let rest=below;
    if(rest.length>4||crowded(rest)){
      const led=rest.filter(t=>!t.off);
      // Each on a line of its own beside its leader, so that no leader crosses a text.
      const side=crowded(led)&&[-1,1].find(s=>led.every(t=>{const end=t.x+s*(7+t.w);return end>=left&&end<=ACROSS}));
      if(side){
        for(const t of side<0?led:led.reverse()){
          const base=y+10+(depth+=14.3);
          line("",[t.x,y+13],[t.x,base],[t.x+4*side,base]);
          text(side<0?".e":"",t.x+7*side,base+4,t.s);
        }
        rest=rest.filter(t=>t.off);
      }else rest.sort((a,b)=>(a.off||0)-(b.off||0));
    }
    for(;rest.length;depth+=14.3)for(const t of spread(rest.splice(0,4),left)){
      text(lean(t),t.at,y+32+depth,t.s);
      if(!t.off)line("",[t.x,y+13],[under(t),y+21]);
    }
    moved+=(depth&&depth+9)-depths[i];
  });
  return moved;
}
function curves({kind,across,left,right,top,base,lines,levels,points}){
  const runs=lines.map(([name,[m,x,set,i]])=>{
    const own=model.case(i);
    return [name,doc.ladders[set].map((_,r)=>own.child(set,r)).filter(c=>!(c[x]>own.max_context)).map(c=>[c[x],drawn(m,c)])];
  });
  const flat=levels.map(([name,of])=>[name,ends(of)[0]]),here=points.map(([name,x,y])=>[name,ends(x)[0],ends(y)[0]]);
  const spots=runs.flatMap(r=>r[1]),xs=spots.map(s=>s[0]);
  const xAxis=axisOf([...xs,...here.map(h=>h[1])]),yAxis=axisOf([...spots.map(s=>s[1]),...flat.map(f=>f[1]),...here.map(h=>h[2])],true);
  const X=v=>left+xAxis.share(v)*(right-left),Y=v=>base+yAxis.share(v)*(top-base);
  let ticks,step=0;
  do{step++;ticks=yAxis.ticks().filter((_,i)=>i%step===0)}while(ticks.some((t,i)=>i&&Y(ticks[i-1])-Y(t)<17));
  left=Math.max(left,...ticks.map(t=>wide(tickText(t))+8));
  for(const t of ticks){line(".line",[left,Y(t)],[right,Y(t)]);text(".e",left-6,Y(t)+4,tickText(t))}
  line("",[left,base],[right,base]);
  const places=unique(xs).sort((a,b)=>a-b);
  let used=-99;
  for(const t of places.length>1&&places.length<10?places:xAxis.ticks()){
    const s=tickText(t),x=X(t),w=wide(s)/2;
    line("",[x,base],[x,base+4]);
    if(x-w<used+8)continue;
    used=x+w;
    text(".m",x,base+16,s);
  }
  const names=[],once=rows=>new Map(rows.map(r=>[r.join(),r])).values();
  for(const [name,v] of once(flat)){
    const known=v>0,x=known?Y(v):base;
    if(known)line(".ink.d",[left,x],[right,x]);
    names.push({s:`${name} ${shownText(v,kind)}`,x,end:right,look:".ink.d",off:!known});
  }
  runs.forEach(([name,spots],i)=>{
    const stroke=`var(--edge-${i%8+1})`;
    let run=[],last;
    for(const [x,y] of [...spots,[1,NaN]])
      if(y>0)run.push(last=[X(x),Y(y)]);
      else{
        if(run.length>1)shape("polyline",{points:run.join(" "),stroke});
        else if(run.length)shape("circle",{cx:last[0],cy:last[1],r:3,fill:stroke});
        run=[];
      }
    names.push(last?{s:name,x:last[1],end:last[0],stroke}:{s:name+" "+shownText(NaN),x:base,off:true});
  });
  for(const t of spread(names.map(n=>({...n,w:12})),top-8,base,3)){
    if(!t.off){
      const edge=right+3;
      if(t.end<right-3)line(".p",[t.end,t.x],[edge,t.x]);
      shape("polyline"+(t.look||""),{points:`${edge},${t.x} ${right+13},${t.at}`,stroke:t.stroke});
    }
    text(t.off?".i":".ink",right+17,t.at+4,t.s);
  }
  for(const [name,x,y] of once(here))if(x>0&&y>0){
    const s=_`${shownText(y,kind)} at ${shownText(x,across)}`,half=Math.max(wide(name,13),wide(s))/2,middle=clamp(X(x),left+half,right-half);
    shape("circle",{cx:X(x),cy:Y(y),r:5,fill:"var(--accent)"});
    text(".b.m.h.w.accent",middle,Y(y)-24,name);
    text(".m.h",middle,Y(y)-10,s);
  }
}
const DRAW={bars,stacks,curves};
// A logarithmic axis: its ends, round ones if asked, the share of a value, and round places on it:
// 1, 2 and 5 times powers of ten.
const rounds=e=>[1,2,5].map(d=>+`${d}e${e}`),power=v=>Math.floor(Math.log10(v)),CLOSE=1+1e-12;
function axisOf(values,round){
  const known=values.filter(v=>v>0);
  let [low,high]=known.length?[Math.min(...known),Math.max(...known)]:[1,10];
  if(high/low<1.5){low/=2;high*=2}
  if(round){
    low=rounds(power(low)).filter(v=>v<=low*CLOSE).at(-1);
    high=[...rounds(power(high)),+`1e${power(high)+1}`].find(v=>v*CLOSE>=high);
  }
  return {share:v=>Math.log(v/low)/Math.log(high/low),ticks(){
    const from=power(low),count=Math.ceil(Math.log10(high))-from;
    const inside=range(count+1).flatMap(k=>rounds(from+k).slice(0,count>3?1:3)).filter(t=>t*CLOSE>=low&&t<=high*CLOSE);
    return inside.length>1?inside:[low,high];
  }};
}
const tickText=t=>t<1e-4?shownText(t):format(t,{maximumFractionDigits:4});
// The issued nodes come back as they were; drawn again is a copy of them.
function drawChart(svg){
  svg.$first??=[[...svg.childNodes],svg.getAttribute("viewBox")];
  const [nodes,box]=svg.$first,live=model!==issued;
  svg.replaceChildren(...nodes.map(n=>live?n.cloneNode(true):n));
  svg.setAttribute("viewBox",box);
  if(!live)return;
  plot=find("[data-live]",svg);
  plot.replaceChildren();
  plot.setAttribute("class","now");
  const declared=JSON.parse(plot.dataset.live),grown=DRAW[declared.draw](declared,svg)||0;
  svg.setAttribute("viewBox",box.replace(/[\d.]+$/,h=>+h+grown));
  find("desc",svg).textContent=joined(findAll("text",svg).map(t=>t.textContent));
}
