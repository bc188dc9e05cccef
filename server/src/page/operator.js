function b(t){return t<100?`${Math.round(t)} s`:t<6e3?`${Math.round(t/60)} min`:t<48*3600?`${Math.round(t/3600)} h`:`${Math.floor(t/86400)} days`}var N=class{#t=[];add(e){let n=this.#t.at(-1),o=n===void 0||n.started_at===e.started_at&&n.clock_ms<=e.clock_ms?this.#t.filter(({clock_ms:r})=>e.clock_ms-r<=3e5):
[];this.#t=[...o,e]}get last(){return this.#t.at(-1)}get span(){let[e,n]=[this.#t[0],this.last];return e===void 0||n===void 0?void 0:[e,n]}get seconds(){return this.
span===void 0?0:C(...this.span)}series(e){return this.#t.slice(1).map((n,s)=>e(this.#t[s],n))}};function C(t,e){return(e.clock_ms-t.clock_ms)/1e3}function S(t,e,n){
let s=C(t,e);return s>0?(n(e)-n(t))/s:void 0}function A(t,e,n,s){let o=s(e)-s(t);return o>0?(n(e)-n(t))/o:void 0}function k(t,e){return t===void 0?e:{count:e.count-
t.count,seconds:e.seconds-t.seconds,below:e.below.map((n,s)=>n-(t.below[s]??0))}}function Y(t){let e=t.reduce((n,{below:s})=>Math.max(n,s.length),0);return{count:t.
reduce((n,{count:s})=>n+s,0),seconds:t.reduce((n,{seconds:s})=>n+s,0),below:Array.from({length:e},(n,s)=>t.reduce((o,{below:r})=>o+(r[s]??0),0))}}function T(t,e,n){
if(t.count<=0)return;let s=n*t.count,o=t.below.findIndex(f=>f>=s);if(o<0)return Number.POSITIVE_INFINITY;let[r,i]=o===0?[0,0]:[e[o-1]??0,t.below[o-1]??0],[d,m]=[
e[o]??0,t.below[o]??0];return m===i?d:r+(d-r)*(s-i)/(m-i)}function R(t,e,n){let s=e.findIndex(o=>o>=n);return t.count-(s<0?t.count:t.below[s]??0)}var bt="/v1/authentications",Z=1,wt={internal:"read the log: each such request has a line with its request id",overloaded:"see the queue, the processor and `pip\
eline.nonces` below; add cores or another service, or let callers send fewer","quota-exceeded":"see which tenant sends more than is answered in time; add cores,\
 or raise limits.in_flight_per_tenant",unsealed:"make room on the disk, and see the log: logins were decided and not attested","storage-damaged":"keep a copy, c\
heck the disk, then restore the whole directory from the newest backup","disk-low":"make room; the service recovers within seconds","key-holder-unavailable":"st\
art the key-holder, or correct keyholder.url; its fingerprint and the list of its clients have to fit",undecided:"see the log of the key-holder","policy-out-of-\
step":"set the tenant's policy again, or the key-holder's threshold","timed-out":"see the stages below: which one became slow"};function J(t,e){let n=[],s=`in t\
he last ${b(C(t,e))}`,o=(c,u,p,h)=>{n.push({level:c,code:u,place:"the last minutes",what:p,remedy:h})};for(let[c,u]of B(t,e)){let p=wt[c];p!==void 0&&o("warning",
c,`${u} requests got \`${c}\` ${s}`,p)}let r=e.requests.map(c=>({times:c,grown:k(P(t,c),c)})),i=r.reduce((c,{grown:u})=>c+u.count,0),d=r.filter(({times:c})=>c.status>=
500).reduce((c,{grown:u})=>c+u.count,0);d>.01*i&&o("broken","server-errors",`${d} of ${i} answers were 5xx ${s}`,"see the refusals below by code, and the log");
let m=Y(r.filter(({times:c})=>c.route===bt).map(({grown:c})=>c)),f=T(m,e.request_bounds_s,.99);return f!==void 0&&f>Z&&R(m,e.request_bounds_s,Z)>=3&&o("warning",
"slow-logins",`the slowest hundredth of the logins took over a second ${s}`,"see the stages below, then processor and disk"),n.sort((c,u)=>x(c)-x(u))}function B(t,e){
let n=new Map;for(let{code:s,route:o,count:r}of e.problems){let i=t.problems.find(d=>d.code===s&&d.route===o)?.count??0;r>i&&n.set(s,(n.get(s)??0)+r-i)}return n}
function P(t,{method:e,route:n,status:s}){return t.requests.find(o=>o.method===e&&o.route===n&&o.status===s)}function x({level:t}){return{broken:0,warning:1,ok:2}[t]}var $t="http://www.w3.org/2000/svg",Q="/v1/authentications",[q,_]=[150,36],X=({logins:t})=>t.matched+t.not_matched,tt=({problems:t})=>t.reduce((e,{count:n})=>e+
n,0),yt=({caches:t})=>t.reduce((e,{hits:n})=>e+n,0),St=({caches:t})=>t.reduce((e,{hits:n,misses:s})=>e+n+s,0),et=({requests:t})=>t.reduce((e,{status:n,count:s})=>e+
(n>=500?s:0),0),kt=t=>(e,n)=>{let s=n.stages.find(({stage:r})=>r===t),o=e.stages.find(({stage:r})=>r===t);return s&&T(k(o,s),n.stage_bounds_s,.99)},Tt=[{name:"L\
ogins",value:(t,e)=>S(t,e,X),text:M,note:t=>`${a(X(t))} since the start`},{name:"Time of a batch with its seal, p99",value:kt("total"),text:it,note:()=>"of a hu\
ndred batches, 99 take less"},{name:"Batch fill",value:(t,e)=>{let n=A(t,e,({batches:s})=>s.lanes,({batches:s})=>s.sealed);return n===void 0?void 0:n/e.batches.
lanes_max},text:E,note:({batches:t})=>`of ${t.lanes_max} logins; fuller is cheaper`,top:1},{name:"Sessions found in the cache",value:(t,e)=>A(t,e,yt,St),text:E,
note:()=>"the others are read from the store",top:1},{name:"Seals",value:(t,e)=>S(t,e,({seals:n})=>n.stored),text:M,note:({seals:t})=>`${a(t.stored)} since the \
start, ${a(t.pruned)} pruned`},{name:"Refusals",value:(t,e)=>S(t,e,tt),text:M,note:t=>`${a(tt(t))} since the start, by code below`},{name:"Server errors",value:(t,e)=>S(
t,e,et),text:M,note:t=>`${a(et(t))} answers were 5xx`},{name:"Processor",value:(t,e)=>S(t,e,({process:n})=>n.processor_seconds??0),text:Bt,note:({process:t})=>t.
memory_bytes===null?"":`${W(t.memory_bytes)} of memory`}];function st(t,e){let n=t.span;if(n===void 0)return;let[s,o]=n;w(e("attention"),Mt(s,o)),w(e("tiles"),Tt.
map(i=>Lt(i,t))),w(e("stages"),Nt(s,o)),w(e("requests"),Ct(s,o)),w(e("refusals"),Rt(s,o)),w(e("tenants"),[...qt(o),...Ft(s,o)]),w(e("key-holders"),Ot(s,o)),w(e(
"rest"),At(o));let r=t.seconds<1?"Rates and percentiles need a second look: in two seconds.":xt(t.seconds);e("window").textContent=r,e("about").textContent=`${o.
issuer}, version ${o.version}, up for ${_t(o)}`}function xt(t){return`Rates and percentiles are over the last ${b(t)}; this page keeps five minutes.`}function _t({
now:t,started_at:e}){return b(Math.max(0,t-e))}function Mt(t,e){let n=[...e.attention,...J(t,e)].sort((o,r)=>x(o)-x(r));if(n.length>0)return n.map(Et);let s=l("\
li","","calm");return s.append(ot("ok","All well"),l("p","Nothing wants attention. Watched: certificate, signing keys, disk, key-holder, attempts without a budg\
et, refusals of each tenant, log, errors, slow logins.")),[s]}function Et({level:t,code:e,place:n,what:s,remedy:o}){let r=l("li","",t),i=l("p","","next");i.append(
l("strong","Next: "),...j(o));let d=l("p","","what");return d.append(...j(s)),r.append(ot(t,t==="broken"?"Broken":"Warning"),d,i,l("p",`${e}, ${n}`,"place")),r}
function ot(t,e){let n={ok:"\u2713",warning:"!",broken:"\u2715"}[t],s=l("span","",`badge ${t}`),o=l("span",n);return o.setAttribute("aria-hidden","true"),s.append(
o,` ${e}`),s}function Lt({name:t,value:e,text:n,note:s,top:o},r){let i=r.series(e),d=i.at(-1),m=l("div","","tile"),f=l("h3",t);m.append(f,l("p",d===void 0?"\u2013":
n(d),"value")),m.append(vt(i,`${t} over five minutes`,n,o));let{last:c}=r;return m.append(l("p",c?s(c):"","note")),m}function vt(t,e,n,s){let o=F("svg",{viewBox:`\
0 0 ${q} ${_}`,role:"img",preserveAspectRatio:"none"}),r=t.filter(p=>p!==void 0&&Number.isFinite(p)),i=Math.max(...r,0),d=Math.min(...r,i),m=F("title",{});m.textContent=
r.length===0?`${e}: nothing yet`:`${e}: from ${n(d)} to ${n(i)}`,o.append(m,F("line",{x1:0,x2:q,y1:_-1,y2:_-1,class:"base"}));let f=q/Math.max(t.length-1,30),c=s??
(i||1),u=q-f*(t.length-1);for(let p of Ht(t)){let h=p.map(([ft,ht])=>{let[pt,gt]=[u+ft*f,_-2-(_-4)*Math.min(1,ht/c)];return`${pt.toFixed(1)},${gt.toFixed(1)}`}),
H=h.length===1;H&&h.push(h[0]),o.append(F("polyline",{points:h.join(" "),class:H?"trace dot":"trace"}))}return o}function Ht(t){let e=[[]];return t.forEach((n,s)=>{
n!==void 0&&Number.isFinite(n)?e.at(-1)?.push([s,n]):e.at(-1)?.length&&e.push([])}),e.filter(n=>n.length>0)}var Dt={proof_lookup:"Prove: look the verdicts up",match:"\
Match, with the templates encrypted",key_holder:"Key-holder: decrypt and decide",digest:"Digest: one statement for each",seal:"Sign: one seal over what waits",total:"\
All, from batch to seal"};function Nt(t,e){let n=e.stages.map(s=>{let o=k(t.stages.find(({stage:i})=>i===s.stage),s),r=i=>at(T(o,e.stage_bounds_s,i));return[Dt[s.
stage]??s.stage,r(.5),r(.99),a(o.count)]});return[$("Stages of a batch",["Stage","Median","p99","How many"],n)]}function Ct(t,e){let n=(e.clock_ms-t.clock_ms)/1e3,
s=e.requests.map(r=>({times:r,grown:k(P(t,r),r)})).filter(({grown:r})=>r.count>0).sort((r,i)=>+(i.times.route===Q)-+(r.times.route===Q)||i.grown.count-r.grown.count).
map(({times:r,grown:i})=>{let d=c=>at(T(i,e.request_bounds_s,c)),m=R(i,e.request_bounds_s,1);return[r.route==="-"?"no such route":`${r.method} ${r.route}`,`${r.
status}`,n>0?M(i.count/n):"\u2013",d(.5),d(.99),a(m)]}),o=["Request","Status","Rate","Median","p99","Over 1 s"];return[s.length>0?$("Requests by route and statu\
s",o,s):l("p","No request yet.","empty")]}function Rt(t,e){let n=B(t,e),s=[...e.problems].sort((r,i)=>(n.get(i.code)??0)-(n.get(r.code)??0)||i.count-r.count).map(
({code:r,route:i,count:d,title:m,cure:f})=>{let c=t.problems.find(u=>u.code===r&&u.route===i)?.count??0;return[`${m} (${r})`,i==="-"?"no such route":i,a(d-c),a(
d),f]}),o=["Refusal","Route","Lately","Since the start","What the caller does"];return[s.length>0?$("Refusals and faults by code",o,s):l("p","Nothing was refuse\
d.","empty")]}function qt(t){let e=t.tenants.filter(({day:s})=>s.matched+s.not_matched+s.turned_away>0).map(({tenant:s,hour:o,day:r,model_refuses:i})=>{let d=u=>`${a(
u(o))} / ${a(u(r))}`,m=u=>u.not_matched+u.turned_away,f=u=>m(u)>0?E(m(u)/(u.matched+m(u))):"0 %",c=i===null?"not known":E(i);return[z(t,s),d(({matched:u})=>u),d(
({not_matched:u})=>u),d(({locked_out:u})=>u),d(({turned_away:u})=>u),`${f(o)} / ${f(r)}`,c]}),n=["Tenant","Matched","No match","Of these without an attempt left",
"Turned away","Refused","Expected of its model"];return e.length>0?[$("Logins of each tenant: last hour / last day",n,e)]:[]}function Ft(t,e){let n=e.caches.map(
o=>{let r=t.caches.find(({tenant:h})=>h===o.tenant),i=h=>h(o)-(r===void 0?0:h(r)),d=i(({hits:h,misses:H})=>h+H),m=d>0?E(i(({hits:h})=>h)/d):"\u2013",[f,c]=[i(h=>h.
admissions_won),i(h=>h.admissions_lost)],u=e.key_holder?.frozen.includes(o.tenant)?", frozen":"";return[`${z(e,o.tenant)}${o.disabled?", disabled":""}${u}`,a(d),
m,`${a(o.entries)} of ${a(o.capacity)}`,`${a(f)} of ${a(f+c)}`,a(i(({evictions:h})=>h))]}),s=["Tenant","Look-ups","Found","Sessions held","Admitted","Made room"];
return[n.length>0?$("Session cache of each tenant",s,n):l("p","There is no tenant: trefoil admin tenant create makes one.","empty")]}function z({caches:t},e){return`${t.
find(s=>s.tenant===e)?.name??""} (${e.slice(0,8)}\u2026)`}function It(t){let e=(t.key_holder?.budget_trips_by_tenant??[]).map(({tenant:s,trips:o,recent:r})=>[z(
t,s),a(r),a(o)]);return e.length>0?[$("Attempts refused because a budget was spent",["Tenant","In the last minutes","Since its start"],e)]:[]}function Ot(t,e){let{
key_holder:n,key_holders:s}=e,o=[];if(n===null)o.push(l("p","The key-holder has not said what it counts.","empty"));else{let r=i=>i(n)-(t.key_holder===null?0:i(
t.key_holder));o.push(rt([["Attempts, lately",`${a(r(({attempts:i})=>i))}, of which ${a(r(({failures:i})=>i))} failed`],["Attempts since its start",`${a(n.attempts)}\
, of which ${a(n.failures)} failed`],["Refused since its start, budget spent",a(n.budget_trips)],["Enrolments since its start",a(n.enrolments)],["Malformed jobs",
n.malformed===0?"none":a(n.malformed)],["Frozen tenants",n.frozen.length===0?"none":n.frozen.join(", ")],["Tenants that it knows",a(n.tenants)],["Templates that\
 it has keys of",a(n.templates)]]),...It(e))}if(s.length>0){let r=s.map(({seat:i,address:d,away:m,silent:f,disagreed:c,lied:u,accused:p})=>[`${i}, ${d}`,m===null?
"there":`away: ${m}`,...[f,c,u,p].map(a)]);o.push($("The three key-holders",["Seat","State","Silent","Disagreed","Lied","Accused"],r))}return o}function At(t){let{
disk:e,queue:n,nonces:s,templates:o,proofs:r,seals:i,process:d}=t,m=[["TLS certificate",nt(t.certificate_until,t.now)],["Signing keys",nt(t.signing_keys_until,t.
now)],["Disk",`${W(e.free_bytes)} free; below ${W(e.low_water_bytes)} logins are refused`],...t.connections.map(({listener:f,open:c,limit:u,refused:p})=>[`Conne\
ctions, ${f}`,`${a(c)} of ${a(u)} open, ${a(p)} dropped`]),["Logins that wait for a batch",`${a(n.used)} of ${a(n.limit)}`],["Nonces of two minutes",`${a(s.used)}\
 of ${a(s.limit)}`],["Requests of a tenant in flight",`at most ${a(t.in_flight_limit)}`],["Proofs",`${a(r.accepted)} accepted, ${a(r.refused)} refused, ${a(r.waiting)}\
 wait`],["Templates in memory",`${a(o.used)} of ${a(o.limit)}`],["A seal waits for the store",i.waits?"yes":"no"],["Log lines lost",a(t.log_lines_lost)],["Open \
files",d.open_files===null?"unknown":a(d.open_files)]];return[rt(m)]}function nt(t,e){if(t===null)return"unknown";let n=new Date(t*1e3).toISOString().slice(0,10);
return t<=e?`ended on ${n}`:`until ${n}, in ${b(t-e)}`}function $(t,e,n){let s=l("table",""),o=l("thead",""),r=l("tr","");r.append(...e.map(d=>I(l("th",d),{scope:"\
col"}))),o.append(r);let i=l("tbody","");for(let[d="",...m]of n){let f=l("tr","");f.append(I(l("th",d),{scope:"row"})),f.append(...m.map((c,u)=>{let p=I(l("td",
""),{"data-name":e[u+1]??""}),h=l("span","");return h.append(...j(c)),p.append(h),p})),i.append(f)}return s.append(l("caption",t),o,i),s}function j(t){return t.
split("`").map((e,n)=>n%2===1?l("code",e):e)}function rt(t){let e=l("dl","");for(let[n,s]of t)e.append(l("dt",n),l("dd",s));return e}function w(t,e){let n=document.
createElement("div");n.append(...e),n.innerHTML!==t.innerHTML&&t.replaceChildren(...e)}function I(t,e){for(let[n,s]of Object.entries(e))t.setAttribute(n,`${s}`);
return t}function F(t,e){return I(document.createElementNS($t,t),e)}function l(t,e,n=""){let s=document.createElement(t);return s.textContent=e,n!==""&&(s.className=
n),s}function a(t){return Math.round(t).toLocaleString("en")}function M(t){if(t>0&&t<.05)return"< 0.1 /s";let e=t!==0&&t<10?1:0;return`${t.toLocaleString("en",{
minimumFractionDigits:e,maximumFractionDigits:e})} /s`}function E(t){return`${(100*t).toFixed(t>0&&t<.1?1:0)} %`}function Bt(t){return`${t.toFixed(2)} cores`}function it(t){
return Number.isFinite(t)?t<.001?`${Math.round(t*1e6)} \xB5s`:t<.01?`${(t*1e3).toFixed(1)} ms`:t<1?`${Math.round(t*1e3)} ms`:`${t.toFixed(1)} s`:"over the scale"}
function at(t){return t===void 0?"\u2013":it(t)}function W(t){let e=["B","KiB","MiB","GiB","TiB"],n=t<1?0:Math.min(e.length-1,Math.floor(Math.log2(t)/10));return`${(t/
1024**n).toFixed(n===0?0:1)} ${e[n]}`}var Pt=2e3,ut=5e3,dt=new N,K=g("enter",HTMLFormElement),V=g("token",HTMLInputElement),U=g("refused",HTMLElement),O=g("figures",HTMLElement),ct=g("lost",HTMLElement),
lt=g("wants",HTMLElement),jt=g("lost-text",HTMLElement),G=g("pause",HTMLButtonElement),y="",L=!1,v=0;function g(t,e){let n=document.getElementById(t);if(!(n instanceof
e))throw new Error(`the page has no ${t}`);return n}async function Wt(){let t={authorization:`Bearer ${y}`};try{let e=AbortSignal.timeout(ut),n=await fetch("/v1\
/status",{headers:t,signal:e,credentials:"omit",cache:"no-store"});return n.status===401||n.status===403?{refused:"The service does not take this token. The adm\
in token is in the file admin.token of the data directory."}:n.ok?{status:await n.json()}:{silent:`it answered with status ${n.status}`}}catch(e){return{silent:e instanceof
DOMException&&e.name==="TimeoutError"?`no answer within ${ut/1e3} s`:"it cannot be reached"}}}function zt(t){if("refused"in t)return Vt(t.refused);if("silent"in
t)return Kt(t.silent);v=Date.now(),ct.hidden=!0,lt.hidden=!1,O.classList.remove("old"),dt.add(t.status),K.hidden=!0,O.hidden=!1,st(dt,n=>g(n,HTMLElement));let e=new Date(
v).toTimeString().slice(0,8);g("state",HTMLElement).textContent=t.status.ready?`Takes logins. Last answer at ${e}.`:`Takes no logins. Last answer at ${e}.`,document.
title=`${Gt(t.status)} \u2013 Trefoil`}function Gt({ready:t,attention:e}){return t?e.length===0?"All well":`${e.length} to look at`:"Takes no logins"}function Vt(t){
y="",U.textContent=t,K.hidden=!1,O.hidden=!0,V.focus()}function Kt(t){if(document.title="Does not answer \u2013 Trefoil",v===0){U.textContent=`The service does \
not answer: ${t}. See whether it runs, then try again.`,y="";return}let[e,n]=[new Date(v).toTimeString().slice(0,8),b((Date.now()-v)/1e3)];jt.textContent=`Its l\
ast answer came at ${e}, ${n} ago; since then ${t}. Everything below is from then.`,ct.hidden=!1,lt.hidden=!0,g("state",HTMLElement).textContent="Not known: the\
 service does not answer.",O.classList.add("old")}async function mt(){y!==""&&!L&&zt(await Wt()),y!==""&&setTimeout(()=>{mt()},Pt)}K.addEventListener("submit",t=>{
t.preventDefault();let e=V.value.trim();V.value="",U.textContent=e===""?"Enter the admin token.":"",!(e===""||y!=="")&&(y=e,mt())});G.addEventListener("click",()=>{
L=!L,G.setAttribute("aria-pressed",`${L}`),G.textContent=L?"Go on":"Pause"});
