function $(t){return t<100?`${Math.round(t)} s`:t<6e3?`${Math.round(t/60)} min`:t<48*3600?`${Math.round(t/3600)} h`:`${Math.floor(t/86400)} days`}var R=class{#t=[];stood=new Set;add(e){let n=this.#t.at(-1),o=n===void 0||n.started_at===e.started_at&&n.clock_ms<=e.clock_ms?this.#t.filter(({clock_ms:r})=>e.clock_ms-
r<=3e5):[];this.#t=[...o,e]}get last(){return this.#t.at(-1)}get span(){let[e,n]=[this.#t[0],this.last];return e===void 0||n===void 0?void 0:[e,n]}get seconds(){
return this.span===void 0?0:F(...this.span)}series(e){return this.#t.slice(1).map((n,s)=>e(this.#t[s],n))}};function F(t,e){return(e.clock_ms-t.clock_ms)/1e3}function x(t,e,n){
let s=F(t,e);return s>0?(n(e)-n(t))/s:void 0}function W(t,e,n,s){let o=s(e)-s(t);return o>0?(n(e)-n(t))/o:void 0}function _(t,e){return t===void 0?e:{count:e.count-
t.count,seconds:e.seconds-t.seconds,below:e.below.map((n,s)=>n-(t.below[s]??0))}}function Q(t){let e=t.reduce((n,{below:s})=>Math.max(n,s.length),0);return{count:t.
reduce((n,{count:s})=>n+s,0),seconds:t.reduce((n,{seconds:s})=>n+s,0),below:Array.from({length:e},(n,s)=>t.reduce((o,{below:r})=>o+(r[s]??0),0))}}function M(t,e,n){
if(t.count<=0)return;let s=n*t.count,o=t.below.findIndex(m=>m>=s);if(o<0)return Number.POSITIVE_INFINITY;let[r,a]=o===0?[0,0]:[e[o-1]??0,t.below[o-1]??0],[u,c]=[
e[o]??0,t.below[o]??0];return c===a?u:r+(u-r)*(s-a)/(c-a)}function I(t,e,n){let s=e.findIndex(o=>o>=n);return t.count-(s<0?t.count:t.below[s]??0)}var bt="/v1/authentications",X=1;function tt(t,e,n=new Set){let s=[],o=`in the last ${$(F(t,e))}`,r=(g,w,P,j)=>{s.push({level:g,code:w,place:"the last minutes",
what:P,remedy:j})},a=e.requests.map(g=>({times:g,grown:_(z(t,g),g)})),u=a.reduce((g,{grown:w})=>g+w.count,0),c=a.filter(({times:g})=>g.status>=500).reduce((g,{grown:w})=>g+
w.count,0),[m,p]=n.has("server-errors")?[.005,1]:[.01,5];c>m*u&&c>=p&&r("broken","server-errors",`${c} of ${u} answers were 5xx ${o}`,"see the refusals below by\
 code, and the log");let h=Q(a.filter(({times:g})=>g.route===bt).map(({grown:g})=>g)),d=M(h,e.request_bounds_s,.99),[f,k]=n.has("slow-logins")?[X/2,1]:[X,3];return d!==
void 0&&d>f&&I(h,e.request_bounds_s,f)>=k&&r("warning","slow-logins",`the slowest hundredth of the logins took over ${f} s ${o}`,"see the stages below, then pro\
cessor and disk"),s.sort((g,w)=>E(g)-E(w))}function et(t,e){let n=new Map;for(let{code:s,route:o,count:r}of e.problems){let a=t.problems.find(u=>u.code===s&&u.route===
o)?.count??0;r>a&&n.set(s,(n.get(s)??0)+r-a)}return n}function z(t,{method:e,route:n,status:s}){return t.requests.find(o=>o.method===e&&o.route===n&&o.status===
s)}function E({level:t}){return{broken:0,warning:1,ok:2}[t]}var wt="http://www.w3.org/2000/svg",nt="/v1/authentications",[O,L]=[150,36],st=({logins:t})=>t.matched+t.not_matched,ot=({problems:t})=>t.reduce((e,{count:n})=>e+
n,0),$t=({caches:t})=>t.reduce((e,{hits:n})=>e+n,0),yt=({caches:t})=>t.reduce((e,{hits:n,misses:s})=>e+n+s,0),rt=({requests:t})=>t.reduce((e,{status:n,count:s})=>e+
(n>=500?s:0),0),St=t=>(e,n)=>{let s=n.stages.find(({stage:r})=>r===t),o=e.stages.find(({stage:r})=>r===t);return s&&M(_(o,s),n.stage_bounds_s,.99)},Tt=[{name:"L\
ogins",value:(t,e)=>x(t,e,st),text:v,note:t=>`${i(st(t))} since the start`},{name:"Time of a batch with its seal, p99",value:St("total"),text:ct,note:()=>"of a \
hundred batches, 99 take less"},{name:"Batch fill",value:(t,e)=>{let n=W(t,e,({batches:s})=>s.lanes,({batches:s})=>s.sealed);return n===void 0?void 0:n/e.batches.
lanes_max},text:H,note:({batches:t})=>`of ${t.lanes_max} logins; fuller is cheaper`,top:1},{name:"Sessions found in the cache",value:(t,e)=>W(t,e,$t,yt),text:H,
note:()=>"the others are read from the store",top:1},{name:"Seals",value:(t,e)=>x(t,e,({seals:n})=>n.stored),text:v,note:({seals:t})=>`${i(t.stored)} since the \
start, ${i(t.pruned)} pruned`},{name:"Refusals",value:(t,e)=>x(t,e,ot),text:v,note:t=>`${i(ot(t))} since the start, by code below`},{name:"Server errors",value:(t,e)=>x(
t,e,rt),text:v,note:t=>`${i(rt(t))} answers were 5xx`},{name:"Processor",value:(t,e)=>x(t,e,({process:n})=>n.processor_seconds??0),text:At,note:({process:t})=>t.
memory_bytes===null?"":`${V(t.memory_bytes)} of memory`}];function it(t,e){let n=t.span;if(n===void 0)return;let[s,o]=n;y(e("attention"),_t(t,s,o)),y(e("tiles"),
Tt.map(a=>Et(a,t))),y(e("stages"),Dt(s,o)),y(e("requests"),Nt(s,o)),y(e("refusals"),Ct(s,o)),y(e("tenants"),[...Rt(o),...Ft(s,o)]),y(e("key-holders"),Ot(s,o)),y(
e("rest"),qt(o));let r=t.seconds<1?"Rates and percentiles need a second look: in two seconds.":kt(t.seconds);e("window").textContent=r,e("about").textContent=`${o.
issuer}, version ${o.version}, up for ${xt(o)}`}function kt(t){return`Rates and percentiles are over the last ${$(t)}; this page keeps five minutes.`}function xt({
now:t,started_at:e}){return $(Math.max(0,t-e))}function _t(t,e,n){let s=tt(e,n,t.stood);t.stood=new Set(s.map(({code:a})=>a));let o=[...n.attention,...s].sort((a,u)=>E(
a)-E(u));if(o.length>0)return o.map(Mt);let r=l("li","","calm");return r.append(ut("ok","All well"),l("p","Nothing wants attention. Watched: certificate, signin\
g keys, disk, key-holder, attempts without a budget, refusals of each tenant, log, errors, slow logins.")),[r]}function Mt({level:t,code:e,place:n,what:s,remedy:o}){
let r=l("li","",t),a=l("p","","next");a.append(l("strong","Next: "),...G(o));let u=l("p","","what");return u.append(...G(s)),r.append(ut(t,t==="broken"?"Broken":
"Warning"),u,a,l("p",`${e}, ${n}`,"place")),r}function ut(t,e){let n={ok:"\u2713",warning:"!",broken:"\u2715"}[t],s=l("span","",`badge ${t}`),o=l("span",n);return o.
setAttribute("aria-hidden","true"),s.append(o,` ${e}`),s}function Et({name:t,value:e,text:n,note:s,top:o},r){let a=r.series(e),u=a.at(-1),c=l("div","","tile"),m=l(
"h3",t);c.append(m,l("p",u===void 0?"\u2013":n(u),"value")),c.append(Lt(a,`${t} over five minutes`,n,o));let{last:p}=r;return c.append(l("p",p?s(p):"","note")),
c}function Lt(t,e,n,s){let o=q("svg",{viewBox:`0 0 ${O} ${L}`,role:"img",preserveAspectRatio:"none"}),r=t.filter(d=>d!==void 0&&Number.isFinite(d)),a=Math.max(...r,
0),u=Math.min(...r,a),c=q("title",{});c.textContent=r.length===0?`${e}: nothing yet`:`${e}: from ${n(u)} to ${n(a)}`,o.append(c,q("line",{x1:0,x2:O,y1:L-1,y2:L-
1,class:"base"}));let m=O/Math.max(t.length-1,30),p=s??(a||1),h=O-m*(t.length-1);for(let d of vt(t)){let f=d.map(([g,w])=>{let[P,j]=[h+g*m,L-2-(L-4)*Math.min(1,
w/p)];return`${P.toFixed(1)},${j.toFixed(1)}`}),k=f.length===1;k&&f.push(f[0]),o.append(q("polyline",{points:f.join(" "),class:k?"trace dot":"trace"}))}return o}
function vt(t){let e=[[]];return t.forEach((n,s)=>{n!==void 0&&Number.isFinite(n)?e.at(-1)?.push([s,n]):e.at(-1)?.length&&e.push([])}),e.filter(n=>n.length>0)}var Ht={
proof_lookup:"Prove: look the verdicts up",match:"Match, with the templates encrypted",key_holder:"Key-holder: decrypt and decide",digest:"Digest: one statement\
 for each",seal:"Sign: one seal over what waits",total:"All, from batch to seal"};function Dt(t,e){let n=e.stages.map(s=>{let o=_(t.stages.find(({stage:a})=>a===
s.stage),s),r=a=>lt(M(o,e.stage_bounds_s,a));return[Ht[s.stage]??s.stage,r(.5),r(.99),i(o.count)]});return[S("Stages of a batch",["Stage","Median","p99","How ma\
ny"],n)]}function Nt(t,e){let n=(e.clock_ms-t.clock_ms)/1e3,s=e.requests.map(r=>({times:r,grown:_(z(t,r),r)})).filter(({grown:r})=>r.count>0).sort((r,a)=>+(a.times.
route===nt)-+(r.times.route===nt)||a.grown.count-r.grown.count).map(({times:r,grown:a})=>{let u=p=>lt(M(a,e.request_bounds_s,p)),c=I(a,e.request_bounds_s,1);return[
r.route==="-"?"no such route":`${r.method} ${r.route}`,`${r.status}`,n>0?v(a.count/n):"\u2013",u(.5),u(.99),i(c)]}),o=["Request","Status","Rate","Median","p99",
"Over 1 s"];return[s.length>0?S("Requests by route and status",o,s):l("p","No request yet.","empty")]}function Ct(t,e){let n=et(t,e),s=[...e.problems].sort((r,a)=>(n.
get(a.code)??0)-(n.get(r.code)??0)||a.count-r.count).map(({code:r,route:a,count:u,title:c,cure:m})=>{let p=t.problems.find(h=>h.code===r&&h.route===a)?.count??0;
return[`${c} (${r})`,a==="-"?"no such route":a,i(u-p),i(u),m]}),o=["Refusal","Route","Lately","Since the start","What the caller does"];return[s.length>0?S("Ref\
usals and faults by code",o,s):l("p","Nothing was refused.","empty")]}function Rt(t){let e=t.tenants.filter(({day:s})=>s.matched+s.not_matched+s.turned_away>0).
map(({tenant:s,model:o,hour:r,day:a,model_refuses:u})=>{let c=d=>`${i(d(r))} / ${i(d(a))}`,m=d=>d.not_matched+d.turned_away,p=d=>m(d)>0?H(m(d)/(d.matched+m(d))):
"0 %",h=u===null?"not known":H(u);return[K(t,s)+(o===null?"":`, model ${o}`),c(({matched:d})=>d),c(({not_matched:d})=>d),c(({locked_out:d})=>d),c(({turned_away:d})=>d),
`${p(r)} / ${p(a)}`,h]}),n=["Tenant","Matched","No match","Of these without an attempt left","Turned away","Refused","Expected of its model"];return e.length>0?
[S("Logins of each tenant: last hour / last day",n,e)]:[]}function Ft(t,e){let n=e.caches.map(o=>{let r=t.caches.find(({tenant:f})=>f===o.tenant),a=f=>f(o)-(r===
void 0?0:f(r)),u=a(({hits:f,misses:k})=>f+k),c=u>0?H(a(({hits:f})=>f)/u):"\u2013",[m,p]=[a(f=>f.admissions_won),a(f=>f.admissions_lost)],h=e.key_holder?.frozen.
includes(o.tenant)?", frozen":"";return[`${K(e,o.tenant)}${o.disabled?", disabled":""}${h}`,i(u),c,`${i(o.entries)} of ${i(o.capacity)}`,`${i(m)} of ${i(m+p)}`,
i(a(({evictions:f})=>f))]}),s=["Tenant","Look-ups","Found","Sessions held","Admitted","Made room"];return[n.length>0?S("Session cache of each tenant",s,n):l("p",
"There is no tenant: trefoil admin tenant create makes one.","empty")]}function K({caches:t},e){return`${t.find(s=>s.tenant===e)?.name??""} (${e.slice(0,8)}\u2026)`}
function It(t){let e=(t.key_holder?.budget_trips_by_tenant??[]).map(({tenant:s,trips:o,recent:r})=>[K(t,s),i(r),i(o)]);return e.length>0?[S("Attempts refused be\
cause a budget was spent",["Tenant","In the last minutes","Since its start"],e)]:[]}function Ot(t,e){let{key_holder:n,key_holders:s}=e,o=[];if(n===null)o.push(l(
"p","The key-holder has not said what it counts.","empty"));else{let r=a=>a(n)-(t.key_holder===null?0:a(t.key_holder));o.push(dt([["Attempts, lately",`${i(r(({attempts:a})=>a))}\
, of which ${i(r(({failures:a})=>a))} failed`],["Attempts since its start",`${i(n.attempts)}, of which ${i(n.failures)} failed`],["Refused since its start, budg\
et spent",i(n.budget_trips)],["Enrolments since its start",i(n.enrolments)],["Malformed jobs",n.malformed===0?"none":i(n.malformed)],["Frozen tenants",n.frozen.
length===0?"none":n.frozen.join(", ")],["Tenants that it knows",i(n.tenants)],["Templates that it has keys of",i(n.templates)]]),...It(e))}if(s.length>0){let r=s.
map(({seat:a,address:u,away:c,silent:m,disagreed:p,lied:h,accused:d})=>[`${a}, ${u}`,c===null?"there":`away: ${c}`,...[m,p,h,d].map(i)]);o.push(S("The three key\
-holders",["Seat","State","Silent","Disagreed","Lied","Accused"],r))}return o}function qt(t){let{disk:e,queue:n,nonces:s,templates:o,proofs:r,seals:a,process:u}=t,
c=[["TLS certificate",at(t.certificate_until,t.now)],["Signing keys",at(t.signing_keys_until,t.now)],["Disk",`${V(e.free_bytes)} free; below ${V(e.low_water_bytes)}\
 logins are refused`],...t.connections.map(({listener:m,open:p,limit:h,refused:d})=>[`Connections, ${m}`,`${i(p)} of ${i(h)} open, ${i(d)} dropped`]),["Logins t\
hat wait for a batch",`${i(n.used)} of ${i(n.limit)}`],["Nonces of two minutes",`${i(s.used)} of ${i(s.limit)}`],["Requests of a tenant in flight",`at most ${i(
t.in_flight_limit)}`],["Proofs",`${i(r.accepted)} accepted, ${i(r.refused)} refused, ${i(r.waiting)} wait`],["Templates in memory",`${i(o.used)} of ${i(o.limit)}`],
["A seal waits for the store",a.waits?"yes":"no"],["Log lines lost",i(t.log_lines_lost)],["Open files",u.open_files===null?"unknown":i(u.open_files)]];return[dt(
c)]}function at(t,e){if(t===null)return"unknown";let n=new Date(t*1e3).toISOString().slice(0,10);return t<=e?`ended on ${n}`:`until ${n}, in ${$(t-e)}`}function S(t,e,n){
let s=l("table",""),o=l("thead",""),r=l("tr","");r.append(...e.map(u=>A(l("th",u),{scope:"col"}))),o.append(r);let a=l("tbody","");for(let[u="",...c]of n){let m=l(
"tr","");m.append(A(l("th",u),{scope:"row"})),m.append(...c.map((p,h)=>{let d=A(l("td",""),{"data-name":e[h+1]??""}),f=l("span","");return f.append(...G(p)),d.append(
f),d})),a.append(m)}return s.append(l("caption",t),o,a),s}function G(t){return t.split("`").map((e,n)=>n%2===1?l("code",e):e)}function dt(t){let e=l("dl","");for(let[
n,s]of t)e.append(l("dt",n),l("dd",s));return e}function y(t,e){let n=document.createElement("div");n.append(...e),n.innerHTML!==t.innerHTML&&t.replaceChildren(
...e)}function A(t,e){for(let[n,s]of Object.entries(e))t.setAttribute(n,`${s}`);return t}function q(t,e){return A(document.createElementNS(wt,t),e)}function l(t,e,n=""){
let s=document.createElement(t);return s.textContent=e,n!==""&&(s.className=n),s}function i(t){return Math.round(t).toLocaleString("en")}function v(t){if(t>0&&t<
.05)return"< 0.1 /s";let e=t!==0&&t<10?1:0;return`${t.toLocaleString("en",{minimumFractionDigits:e,maximumFractionDigits:e})} /s`}function H(t){return`${(100*t).
toFixed(t>0&&t<.1?1:0)} %`}function At(t){return`${t.toFixed(2)} cores`}function ct(t){return Number.isFinite(t)?t<.001?`${Math.round(t*1e6)} \xB5s`:t<.01?`${(t*
1e3).toFixed(1)} ms`:t<1?`${Math.round(t*1e3)} ms`:`${t.toFixed(1)} s`:"over the scale"}function lt(t){return t===void 0?"\u2013":ct(t)}function V(t){let e=["B",
"KiB","MiB","GiB","TiB"],n=t<1?0:Math.min(e.length-1,Math.floor(Math.log2(t)/10));return`${(t/1024**n).toFixed(n===0?0:1)} ${e[n]}`}var Bt=2e3,mt=5e3,ft=new R,Z=b("enter",HTMLFormElement),Y=b("token",HTMLInputElement),J=b("refused",HTMLElement),B=b("figures",HTMLElement),pt=b("lost",HTMLElement),
gt=b("wants",HTMLElement),Pt=b("lost-text",HTMLElement),U=b("pause",HTMLButtonElement),T="",D=!1,N=0;function b(t,e){let n=document.getElementById(t);if(!(n instanceof
e))throw new Error(`the page has no ${t}`);return n}async function jt(){let t={authorization:`Bearer ${T}`};try{let e=AbortSignal.timeout(mt),n=await fetch("/v1\
/status",{headers:t,signal:e,credentials:"omit",cache:"no-store"});return n.status===401||n.status===403?{refused:"The service does not take this token. The adm\
in token is in the file admin.token of the data directory."}:n.ok?{status:await n.json()}:{silent:`it answered with status ${n.status}`}}catch(e){return{silent:e instanceof
DOMException&&e.name==="TimeoutError"?`no answer within ${mt/1e3} s`:"it cannot be reached"}}}function Wt(t){if("refused"in t)return Gt(t.refused);if("silent"in
t)return Vt(t.silent);N=Date.now(),pt.hidden=!0,gt.hidden=!1,B.classList.remove("old"),ft.add(t.status),Z.hidden=!0,B.hidden=!1,it(ft,n=>b(n,HTMLElement));let e=new Date(
N).toTimeString().slice(0,8);b("state",HTMLElement).textContent=t.status.ready?`Takes logins. Last answer at ${e}.`:`Takes no logins. Last answer at ${e}.`,document.
title=`${zt(t.status)} \u2013 Trefoil`}function zt({ready:t,attention:e}){return t?e.length===0?"All well":`${e.length} to look at`:"Takes no logins"}function Gt(t){
T="",J.textContent=t,Z.hidden=!1,B.hidden=!0,Y.focus()}function Vt(t){if(document.title="Does not answer \u2013 Trefoil",N===0){J.textContent=`The service does \
not answer: ${t}. See whether it runs, then try again.`,T="";return}let[e,n]=[new Date(N).toTimeString().slice(0,8),$((Date.now()-N)/1e3)];Pt.textContent=`Its l\
ast answer came at ${e}, ${n} ago; since then ${t}. Everything below is from then.`,pt.hidden=!1,gt.hidden=!0,b("state",HTMLElement).textContent="Not known: the\
 service does not answer.",B.classList.add("old")}async function ht(){T!==""&&!D&&Wt(await jt()),T!==""&&setTimeout(()=>{ht()},Bt)}Z.addEventListener("submit",t=>{
t.preventDefault();let e=Y.value.trim();Y.value="",J.textContent=e===""?"Enter the admin token.":"",!(e===""||T!=="")&&(T=e,ht())});U.addEventListener("click",()=>{
D=!D,U.setAttribute("aria-pressed",`${D}`),U.textContent=D?"Go on":"Pause"});
