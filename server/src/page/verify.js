var hc=Array.from({length:256},(e,t)=>t.toString(16).padStart(2,"0")),yc="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";function Mt(e){return ArrayBuffer.
isView(e)&&Object.prototype.toString.call(e)==="[object Uint8Array]"}function He(e,t){return e.length===t.length&&e.every((n,r)=>n===t[r])}function Lt(e){return Array.
from(e,t=>hc[t]).join("")}function gn(e){let t=new Uint8Array(Math.floor(e.length*3/4)),n=0,r=0,f=0;for(let o of e){let c=yc.indexOf(o);if(c<0)return;f=f<<6|c,r+=
6,r>=8&&(r-=8,t[n++]=f>>r,f&=(1<<r)-1)}return r<6&&f===0?t:void 0}var We=class extends Error{name="DecodeError";offset;field;problem;explanation;constructor(t,n,r,f){super(`${n} at byte ${t}: ${f}`),this.offset=t,this.field=n,
this.problem=r,this.explanation=f}};var mn=0,qn=1,zr=2,qr=3,Vr=4,Gr=5,pc=6,Yr=246,gc=64,mc=(1n<<63n)-1n,wc=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}),xc=new TextEncoder;function Yt(e){return xc.
encode(e)}function wn(e,t){let{length:n}=Yt(e);return n>=1&&n<=t&&!/[\p{Cc}\p{Cs}]/u.test(e)}var at=class{#t=[];#e(t,n){let r=[0x18n,0x100n,0x10000n,0x100000000n].
findIndex(o=>n<o);if(r===0){this.#t.push(t<<5|Number(n));return}let f=r<0?3:r-1;this.#t.push(t<<5|24+f);for(let o=8*(2**f-1);o>=0;o-=8)this.#t.push(Number(n>>BigInt(
o)&0xffn))}uint(t){return this.#e(mn,t),this}int(t){return t<0?this.#e(qn,BigInt(-1-t)):this.#e(mn,BigInt(t)),this}bytes(t){this.#e(zr,BigInt(t.length));for(let n of t)
this.#t.push(n);return this}text(t){let n=Yt(t);this.#e(qr,BigInt(n.length));for(let r of n)this.#t.push(r);return this}array(t){return this.#e(Vr,BigInt(t)),this}map(t){
return this.#e(Gr,BigInt(t)),this}null(){return this.#t.push(Yr),this}finish(){return Uint8Array.from(this.#t)}},De=class e{#t;#e=0;constructor(t){this.#t=t}static of(t,n,r){
if(!Mt(n))throw new TypeError(`${t} must be a Uint8Array`);if(n.length>r)throw new e(new Uint8Array).wrongLength(t);return new e(new Uint8Array(n))}get offset(){
return this.#e}error(t,n,r,f=this.#e){return new We(f,t,n,r)}outOfRange(t,n=this.#e){return this.error(t,"out-of-range","the value is outside its limits",n)}wrongLength(t,n=this.#e){
return this.error(t,"wrong-length","the length is outside its limits",n)}finish(t){if(this.#e!==this.#t.length)throw this.error(t,"trailing-bytes","bytes follow\
 the end; pass exactly one object")}#n(t,n){if(n>this.#t.length-this.#e)throw this.error(t,"truncated","the input ends here; fetch the complete file again");return this.#e+=
n,this.#t.subarray(this.#e-n,this.#e)}#r(t,n,r){let f=this.#e,o=this.#n(t,1)[0]??0;if(o>>5!==n)throw this.error(t,"wrong-type",`${r} belongs here`,f);let c=o&31;
if(c<24)return BigInt(c);if(c>27)throw this.#f(t,f);let s=1<<c-24,i=0n;for(let E of this.#n(t,s))i=i<<8n|BigInt(E);let y=s===1?24n:1n<<BigInt(4*s);if(i<y)throw this.#f(
t,f);return i}#f(t,n){return this.error(t,"not-canonical","not deterministic CBOR (RFC 8949 4.2); pass the issuer's bytes unchanged",n)}uint(t){return this.#r(t,
mn,"an unsigned integer")}number(t,n){let r=this.#e,f=this.uint(t);if(f>BigInt(n))throw this.outOfRange(t,r);return Number(f)}int(t){let n=this.#e,r=(this.#t[n]??
0)>>5===qn,f=this.#r(t,r?qn:mn,"an integer");if(f>mc)throw this.outOfRange(t,n);return r?-1n-f:f}key(t,n){let r=this.#e,f=this.int(t);if(f!==BigInt(n))throw this.
unexpectedKey(t,n,f,r);return this}unexpectedKey(t,n,r,f){return this.error(t,"unexpected-key",`map key ${n} belongs here, found ${r}`,f)}bytes(t,n,r=n){let f=this.#e,
o=this.#r(t,zr,"a byte string");return this.#o(t,f,o,n,r).slice()}text(t,n){let r=this.#e,f=this.#r(t,qr,"a text string"),o=this.#o(t,r,f,1,n);try{let c=wc.decode(
o);if(!/\p{Cc}/u.test(c))return c}catch{}throw this.error(t,"invalid-text","text must be UTF-8 without control characters",r)}format(t,n){let r=this.#e;if(this.
text(t,gc)!==n)throw this.error(t,"unknown-format",`this version reads ${n} only; update it`,r)}#o(t,n,r,f,o){if(r<BigInt(f)||r>BigInt(o))throw this.wrongLength(
t,n);return this.#n(t,Number(r))}array(t,n,r=n){let f=this.#e,o=this.#r(t,Vr,"an array");if(o<BigInt(n)||o>BigInt(r))throw this.wrongLength(t,f);return Number(o)}map(t,n,r=n){
let f=this.#e,o=this.#r(t,Gr,"a map");if(o<BigInt(n)||o>BigInt(r))throw this.wrongLength(t,f);return Number(o)}tag(t,n){let r=this.#e;if(this.#r(t,pc,"a tag")!==
BigInt(n))throw this.outOfRange(t,r)}null(t){if(!this.isNull())throw this.error(t,"wrong-type","null belongs here");this.#n(t,1)}isNull(){return this.#t[this.#e]===
Yr}};var xn=BigInt(4294967295),Xr=BigInt(32);function Ec(e,t=!1){return t?{h:Number(e&xn),l:Number(e>>Xr&xn)}:{h:Number(e>>Xr&xn)|0,l:Number(e&xn)|0}}function Wr(e,t=!1){
let n=e.length,r=new Uint32Array(n),f=new Uint32Array(n);for(let o=0;o<n;o++){let{h:c,l:s}=Ec(e[o],t);[r[o],f[o]]=[c,s]}return[r,f]}var Ac=e=>e/2**32|0,Tc=e=>e>>>0;function Jr(e,t,n,r){let f=Ac(n),o=Tc(n);e.setUint32(t,r?o:f,r),e.setUint32(t+4,r?f:o,r)}function Xt(e){return e instanceof Uint8Array||ArrayBuffer.isView(e)&&e.constructor.name==="Uint8Array"&&"BYTES_PER_ELEMENT"in e&&e.BYTES_PER_ELEMENT===1}var En=e=>e?
`"${e}" `:"";function Ie(e,t=""){if(typeof e!="number")throw new TypeError(En(t)+"expected number, got "+typeof e);if(!Number.isSafeInteger(e)||e<0)throw new RangeError(
En(t)+"expected integer >= 0, got "+e);return e}function ef(e,t=""){if(typeof e!="boolean")throw new TypeError(En(t)+"expected boolean, got type="+typeof e);return e}
function z(e,t,n=""){if(Xt(e)&&(t===void 0||e.length===t))return e;t!==void 0&&Ie(t,"length");let r=Xt(e),f=t!==void 0?` of length ${t}`:"",o=r?`length=${e.length}`:
`type=${typeof e}`,c=En(n)+"expected Uint8Array"+f+", got "+o;throw r?new RangeError(c):new TypeError(c)}function An(e){if(typeof e!="function"||typeof e.create!="function")throw new TypeError("expected hash wrapped by utils.createHasher");if(Ie(e.outputLen),Ie(e.blockLen),
e.outputLen<1||e.blockLen<1)throw new Error("hash blockLen / outputLen must be >= 1")}var Sc=(e,t)=>{if(e===null||typeof e!="object"||Array.isArray(e))throw new TypeError(
(t==="object"?"":`"${t}" `)+"expected object, got type="+typeof e)},Zr=(e,t)=>{Sc(e,t);let n=Object.getPrototypeOf(e);if(n!==Object.prototype&&n!==null)throw new TypeError(
`"${t}" expected plain object`);if(Object.hasOwn(e,"__proto__"))throw new TypeError(`"${t}.__proto__" is not allowed`)};function it(e,t=!0){if(e.destroyed)throw new Error(
"hash was destroyed");if(t&&e.finished)throw new Error("digest() was already called")}function Ct(e,t){z(e,void 0,"output");let n=t.outputLen;if(!(e.length>=n))
throw new RangeError('"output" expected length >= '+n)}function tf(e){return new Uint8Array(e.buffer,e.byteOffset,e.byteLength)}function Ot(e){return new Uint32Array(
e.buffer,e.byteOffset,Math.floor(e.byteLength/4))}function yt(...e){for(let t=0;t<e.length;t++)e[t].fill(0)}function dt(e){return new DataView(e.buffer,e.byteOffset,
e.byteLength)}function Je(e,t){return e<<32-t|e>>>t}var Vn=new Uint8Array(new Uint32Array([287454020]).buffer)[0]===68;function _c(e){return e<<24&4278190080|e<<8&16711680|e>>>8&65280|e>>>24&255}function Lc(e){for(let t=0;t<e.length;t++)e[t]=_c(e[t]);return e}var nt=Vn?e=>e:Lc,nf=typeof Uint8Array.from([]).toHex=="function"&&typeof Uint8Array.fromHex=="\
function",Oc=Array.from({length:256},(e,t)=>t.toString(16).padStart(2,"0"));function pt(e){if(z(e),nf)return e.toHex();let t="";for(let n=0;n<e.length;n++)t+=Oc[e[n]];
return t}function Qr(e){return e>=48&&e<=57?e-48:e>=65&&e<=70?e-55:e>=97&&e<=102?e-87:void 0}function Wt(e){if(typeof e!="string")throw new TypeError("hex strin\
g expected, got "+typeof e);if(nf)try{return Uint8Array.fromHex(e)}catch(f){throw f instanceof SyntaxError?new RangeError(f.message):f}let t=e.length,n=t/2;if(t%
2)throw new RangeError("hex string expected, got unpadded hex of length "+t);let r=new Uint8Array(n);for(let f=0,o=0;f<n;f++,o+=2){let c=Qr(e.charCodeAt(o)),s=Qr(
e.charCodeAt(o+1));if(c===void 0||s===void 0){let i=e[o]+e[o+1];throw new RangeError('hex string expected, got non-hex character "'+i+'" at index '+o)}r[f]=c*16+
s}return r}function gt(...e){let t=0;for(let r=0;r<e.length;r++){let f=e[r];z(f),t+=f.length}let n=new Uint8Array(t);for(let r=0,f=0;r<e.length;r++){let o=e[r];n.set(o,f),
f+=o.length}return n}function Gn(e,t,n="opts"){return Zr(e,"defaults"),t!==void 0&&Zr(t,n),Object.assign(Object.create(null),e,t)}function Jt(e,t={}){if(typeof e!="function")throw new TypeError(
'"hashCons" expected function, got type='+typeof e);t=Gn({},t,"info");let n=(f,o)=>e(o).update(f).digest(),r=e(void 0);return n.outputLen=r.outputLen,n.blockLen=
r.blockLen,n.canXOF=r.canXOF,n.create=f=>e(f),Object.assign(n,t),Object.freeze(n)}function kt(e=32){Ie(e,"bytesLength");let t=typeof globalThis=="object"?globalThis.
crypto:null;if(typeof t?.getRandomValues!="function")throw new Error("crypto.getRandomValues must be defined");if(e>65536)throw new RangeError(`"bytesLength" ex\
pected <= 65536, got ${e}`);return t.getRandomValues(new Uint8Array(e))}var Ht=e=>({oid:Uint8Array.from([6,9,96,134,72,1,101,3,4,2,e])});var kc=BigInt(0),Zt=BigInt(1),vc=BigInt(2),Bc=BigInt(7),Uc=BigInt(256),Ic=BigInt(113),of=[],cf=[],sf=[];for(let e=0,t=Zt,n=1,r=0;e<24;e++){[n,r]=[r,(2*n+3*r)%5],
of.push(2*(5*r+n)),cf.push((e+1)*(e+2)/2%64);let f=kc;for(let o=0;o<7;o++)t=(t<<Zt^(t>>Bc)*Ic)%Uc,t&vc&&(f^=Zt<<(Zt<<BigInt(o))-Zt);sf.push(f)}var af=Wr(sf,!0),
Rc=af[0],Nc=af[1],Fc=(e,t,n)=>e<<n|t>>>32-n,Mc=(e,t,n)=>t<<n|e>>>32-n,Cc=(e,t,n)=>t<<n-32|e>>>64-n,Hc=(e,t,n)=>e<<n-32|t>>>64-n,rf=(e,t,n)=>n>32?Cc(e,t,n):Fc(e,
t,n),ff=(e,t,n)=>n>32?Hc(e,t,n):Mc(e,t,n),jt=new Uint32Array(10);function jc(e,t=24){if(!(e instanceof Uint32Array))throw new TypeError('"s" expected Uint32Arra\
y(50), got type='+typeof e);if(e.length!==50)throw new RangeError('"s" expected Uint32Array(50), got length='+e.length);if(Ie(t,"rounds"),t<1||t>24)throw new Error(
'"rounds" expected integer 1..24');for(let n=24-t;n<24;n++){for(let o=0;o<10;o++)jt[o]=e[o]^e[o+10]^e[o+20]^e[o+30]^e[o+40];for(let o=0;o<10;o+=2){let c=(o+8)%10,
s=(o+2)%10,i=jt[s],y=jt[s+1],E=rf(i,y,1)^jt[c],g=ff(i,y,1)^jt[c+1];for(let A=0;A<50;A+=10)e[o+A]^=E,e[o+A+1]^=g}let r=e[2],f=e[3];for(let o=0;o<24;o++){let c=cf[o],
s=rf(r,f,c),i=ff(r,f,c),y=of[o];r=e[y],f=e[y+1],e[y]=s,e[y+1]=i}for(let o=0;o<50;o+=10){let c=e[o],s=e[o+1],i=e[o+2],y=e[o+3];e[o]^=~e[o+2]&e[o+4],e[o+1]^=~e[o+
3]&e[o+5],e[o+2]^=~e[o+4]&e[o+6],e[o+3]^=~e[o+5]&e[o+7],e[o+4]^=~e[o+6]&e[o+8],e[o+5]^=~e[o+7]&e[o+9],e[o+6]^=~e[o+8]&c,e[o+7]^=~e[o+9]&s,e[o+8]^=~c&i,e[o+9]^=~s&
y}e[0]^=Rc[n],e[1]^=Nc[n]}yt(jt)}var Tn=class e{state;pos=0;posOut=0;finished=!1;state32;destroyed=!1;blockLen;suffix;outputLen;canXOF;enableXOF=!1;rounds;constructor(t,n,r,f=!1,o=24){
if(Ie(t,"blockLen"),Ie(n,"suffix"),Ie(o,"rounds"),ef(f,"enableXOF"),this.blockLen=t,this.suffix=n,this.outputLen=r,this.enableXOF=f,this.canXOF=f,this.rounds=o,
Ie(r,"outputLen"),!(0<t&&t<200))throw new Error('"blockLen" must be 1..199');this.state=new Uint8Array(200),this.state32=Ot(this.state)}clone(){return this._cloneInto()}keccak(){
nt(this.state32),jc(this.state32,this.rounds),nt(this.state32),this.posOut=0,this.pos=0}update(t){it(this),z(t);let{blockLen:n,state:r,state32:f}=this,o=t.length,
c=n%4===0&&t.byteOffset%4===0,s=n/4,i=c&&o>=n?Ot(t):void 0;for(let y=0;y<o;){if(i!==void 0&&this.pos===0&&y%4===0&&o-y>=n){for(let g=0,A=y/4;g<s;g++)f[g]^=i[A+g];
y+=n,this.pos=n,this.keccak();continue}let E=Math.min(n-this.pos,o-y);for(let g=0;g<E;g++)r[this.pos++]^=t[y++];this.pos===n&&this.keccak()}return this}finish(){
if(this.finished)return;this.finished=!0;let{state:t,suffix:n,pos:r,blockLen:f}=this;t[r]^=n,(n&128)!==0&&r===f-1&&this.keccak(),t[f-1]^=128,this.keccak()}writeInto(t){
it(this,!1),z(t),this.finish();let n=this.state,{blockLen:r}=this;for(let f=0,o=t.length;f<o;){this.posOut>=r&&this.keccak();let c=Math.min(r-this.posOut,o-f);t.
set(n.subarray(this.posOut,this.posOut+c),f),this.posOut+=c,f+=c}return t}xofInto(t){if(!this.enableXOF)throw new Error("XOF is not enabled");return this.writeInto(
t)}xof(t){return Ie(t),this.xofInto(new Uint8Array(t))}digestInto(t){if(Ct(t,this),this.finished)throw new Error("digest() was already called");this.writeInto(t.
length===this.outputLen?t:t.subarray(0,this.outputLen)),this.destroy()}digest(){let t=new Uint8Array(this.outputLen);return this.digestInto(t),t}destroy(){this.
destroyed=!0,yt(this.state)}_cloneInto(t){let{blockLen:n,suffix:r,outputLen:f,rounds:o,enableXOF:c}=this;return t||=new e(n,r,f,c,o),t.blockLen=n,t.state32.set(
this.state32),t.pos=this.pos,t.posOut=this.posOut,t.finished=this.finished,t.rounds=o,t.suffix=r,t.outputLen=f,t.enableXOF=c,t.canXOF=this.canXOF,t.destroyed=this.
destroyed,t}},Pc=(e,t,n,r={})=>Jt(()=>new Tn(t,e,n),r);var vt=Pc(6,136,32,Ht(8));var df=(e,t,n,r={})=>Jt((f={})=>(f=Gn({},f),new Tn(t,e,f.dkLen===void 0?n:f.dkLen,!0)),r),bf=df(31,168,16,Ht(11)),ke=df(31,136,32,Ht(12));/*! noble-ciphers - MIT License (c) 2023 Paul Miller (paulmillr.com) */function Yn(e){return e instanceof Uint8Array||ArrayBuffer.isView(e)&&e.constructor.name==="Uint8Array"&&"BYTES_PER_ELEMENT"in e&&e.BYTES_PER_ELEMENT===1}var Sn=e=>e?
`"${e}" `:"";function Xn(e,t=""){if(typeof e!="boolean")throw new TypeError(Sn(t)+"expected boolean, got type="+typeof e);return e}function Bt(e,t=""){if(typeof e!=
"number")throw new TypeError(Sn(t)+"expected number, got "+typeof e);if(!Number.isSafeInteger(e)||e<0)throw new RangeError(Sn(t)+"expected integer >= 0, got "+e);
return e}function ye(e,t,n=""){if(Yn(e)&&(t===void 0||e.length===t))return e;t!==void 0&&Bt(t,"length");let r=Yn(e),f=t!==void 0?` of length ${t}`:"",o=r?`lengt\
h=${e.length}`:`type=${typeof e}`,c=Sn(n)+"expected Uint8Array"+f+", got "+o;throw r?new RangeError(c):new TypeError(c)}var uf=(e,t)=>{if(e===null||typeof e!="o\
bject"||Array.isArray(e))throw new TypeError(t==="object"?"expected valid options object":`"${t}" expected object, got type=${typeof e}`)};function lf(e){return new Uint8Array(e.buffer,e.byteOffset,e.byteLength)}function je(e){return new Uint32Array(e.buffer,e.byteOffset,Math.floor(e.byteLength/4))}
function mt(...e){for(let t=0;t<e.length;t++)e[t].fill(0)}var rt=new Uint8Array(new Uint32Array([287454020]).buffer)[0]===68;function Wn(e){return e<<24&4278190080|e<<8&16711680|e>>>8&65280|e>>>24&255}var $e=rt?e=>e:e=>Wn(
e)>>>0;function Dc(e){for(let t=0;t<e.length;t++)e[t]=Wn(e[t]);return e}var Ze=rt?e=>e:Dc;function hf(e,t){return!e.byteLength||!t.byteLength?!1:e.buffer===t.buffer&&e.byteOffset<t.byteOffset+t.byteLength&&t.byteOffset<e.byteOffset+e.byteLength}function _n(e,t){
if(hf(e,t)&&e.byteOffset<t.byteOffset)throw new Error("complex overlap of input and output is not supported")}function yf(e,t){return uf(e,"defaults"),uf(t,"opts"),Object.assign(e,t)}var pf=(e,t)=>{function n(r,...f){if(ye(r,void 0,"key"),e.nonceLength!==void 0){let g=f[0];ye(g,e.varSizeNonce?void 0:e.nonceLength,"nonce")}let o=e.tagLength,c=e.
nonceLength!==void 0?1:0;if(!e.withAAD){for(let g=c;g<f.length;g++)if(Yn(f[g]))throw new Error("AAD not supported")}e.withAAD&&f[c]!==void 0&&ye(f[c],void 0,"AA\
D");let s=t(r,...f),i=(g,A)=>{if(A!==void 0){if(g!==2)throw new Error("cipher output not supported");ye(A,void 0,"output")}},y=!1;return{encrypt(g,A){if(y)throw new Error(
"cannot encrypt() twice with same key + nonce");return y=!0,ye(g,void 0,"data"),i(s.encrypt.length,A),s.encrypt(g,A)},decrypt(g,A){if(ye(g,void 0,"data"),o&&g.length<
o)throw new Error('"ciphertext" expected length >= tagLength='+o);return i(s.decrypt.length,A),s.decrypt(g,A)}}}return Object.assign(n,e),n};function Ln(e,t,n=!0){
if(t===void 0)return new Uint8Array(e);if(ye(t,e,"output"),n&&!bt(t))throw new Error("invalid output, must be aligned");return t}function bt(e){return e.byteOffset%4===0}function Ut(e){return Uint8Array.from(ye(e))}var Jn=16,$c=4;var Kc=283;function zc(e){if(![16,24,32].includes(e.length))throw new Error('"aes key" expected Uint8Array of length 16/24/32, got length='+e.length)}function nr(e){
return e<<1^Kc&-(e>>7)}function gf(e,t){let n=0;for(;t>0;t>>=1)n^=e&-(t&1),e=nr(e);return n}var Zn=(e,t,n=1)=>{if(!Number.isSafeInteger(n)||n<0||n>4294967040)throw new Error(
"incBytes: wrong carry "+n);ye(e);for(let r=0;r<e.length;r++){let f=t?r:e.length-1-r;n=n+(e[f]&255)|0,e[f]=n&255,n>>>=8}},qc=(()=>{let e=new Uint8Array(256);for(let n=0,
r=1;n<256;n++,r^=nr(r))e[n]=r;let t=new Uint8Array(256);t[0]=99;for(let n=0;n<255;n++){let r=e[255-n];r|=r<<8,t[e[n]]=(r^r>>4^r>>5^r>>6^r>>7^99)&255}return mt(e),
t})();var Vc=e=>e<<24|e>>>8,Qn=e=>e<<8|e>>>24;function Gc(e,t){if(e.length!==256)throw new Error("wrong sbox length");let n=new Uint32Array(256).map((y,E)=>t(e[E])),r=n.
map(Qn),f=r.map(Qn),o=f.map(Qn),c=new Uint32Array(256*256),s=new Uint32Array(256*256),i=new Uint16Array(256*256);for(let y=0;y<256;y++)for(let E=0;E<256;E++){let g=y*
256+E;c[g]=n[y]^r[E],s[g]=f[y]^o[E],i[g]=e[y]<<8|e[E]}return{sbox:e,sbox2:i,T0:n,T1:r,T2:f,T3:o,T01:c,T23:s}}var wf=Gc(qc,e=>gf(e,3)<<24|e<<16|e<<8|gf(e,2));var Yc=(()=>{let e=new Uint8Array(16);for(let t=0,n=1;t<16;t++,n=nr(n))e[t]=n;return e})();function Xc(e){ye(e);let t=e.length;zc(e);let{sbox2:n}=wf,r=[];(!rt||
!bt(e))&&r.push(e=Ut(e));let f=Ze(je(e)),o=f.length,c=i=>Qt(n,i,i,i,i),s=new Uint32Array(t+28);s.set(f);for(let i=o;i<s.length;i++){let y=s[i-1];i%o===0?y=c(Vc(
y))^Yc[i/o-1]:o>6&&i%o===4&&(y=c(y)),s[i]=s[i-o]^y}return mt(...r),s}function On(e,t,n,r,f,o){return e[n<<8&65280|r>>>8&255]^t[f>>>8&65280|o>>>24&255]}function Qt(e,t,n,r,f){return e[t&255|n&65280]|e[r>>>16&255|f>>>16&65280]<<16}
function mf(e,t,n,r,f){let{sbox2:o,T01:c,T23:s}=wf,i=0;t^=e[i++],n^=e[i++],r^=e[i++],f^=e[i++];let y=e.length/4-2;for(let _=0;_<y;_++){let U=e[i++]^On(c,s,t,n,r,
f),N=e[i++]^On(c,s,n,r,f,t),j=e[i++]^On(c,s,r,f,t,n),J=e[i++]^On(c,s,f,t,n,r);t=U,n=N,r=j,f=J}let E=e[i++]^Qt(o,t,n,r,f),g=e[i++]^Qt(o,n,r,f,t),A=e[i++]^Qt(o,r,
f,t,n),T=e[i++]^Qt(o,f,t,n,r);return{s0:E,s1:g,s2:A,s3:T}}function Wc(e,t,n,r){ye(t,Jn,"nonce"),ye(n);let f=n.length;r=Ln(f,r),_n(n,r);let o=t,c=je(o),s=je(n),i=je(r);for(let E=0;E+4<=s.length;E+=4){let{s0:g,s1:A,s2:T,
s3:_}=mf(e,$e(c[0]),$e(c[1]),$e(c[2]),$e(c[3]));i[E+0]=s[E+0]^$e(g),i[E+1]=s[E+1]^$e(A),i[E+2]=s[E+2]^$e(T),i[E+3]=s[E+3]^$e(_);for(let U=Jn-1,N=1;U>=0;U--)N=N+
o[U]|0,o[U]=N&255,N>>>=8}let y=Jn*Math.floor(s.length/$c);if(y<f){let{s0:E,s1:g,s2:A,s3:T}=mf(e,$e(c[0]),$e(c[1]),$e(c[2]),$e(c[3])),_=new Uint32Array([E,g,A,T]);
Ze(_);let U=lf(_);for(let N=y,j=0;N<f;N++,j++)r[N]=n[N]^U[j];mt(_)}return r}var er=pf({blockSize:16,nonceLength:16},function(t,n){function r(f,o){if(ye(f),o!==void 0&&(ye(o),!bt(o)))throw new Error("unaligned destination");let c=Xc(t),s=Ut(
n),i=[c,s];bt(f)||i.push(f=Ut(f));let y=Wc(c,s,f,o);return mt(...i),y}return{encrypt:(f,o)=>r(f,o),decrypt:(f,o)=>r(f,o)}});var tr=class{blockLen;key;nonce;state;reseedCnt;destroyed=!1;constructor(t,n,r){this.blockLen=er.blockSize;let f=t/8,o=16;this.state=new Uint8Array(f+o),this.key=
this.state.subarray(0,f),this.nonce=this.state.subarray(f,f+o),this.reseedCnt=1,Zn(this.nonce,!1,1),this.addEntropy(n,r)}update(t){if(er(this.key,this.nonce).encrypt(
new Uint8Array(this.state.length),this.state),t){ye(t);for(let n=0;n<t.length;n++)this.state[n]^=t[n]}Zn(this.nonce,!1,1)}addEntropy(t,n){if(this.destroyed)throw new Error(
"cannot use destroyed DRBG");ye(t,this.state.length,"seed");let r=t.slice();if(n){if(ye(n),n.length>r.length)throw new Error("info length is too big");for(let f=0;f<
n.length;f++)r[f]^=n[f]}this.update(r),r.fill(0),this.reseedCnt=1}randomBytes(t,n){if(this.destroyed)throw new Error("cannot use destroyed DRBG");if(Bt(t),t>2**
16)throw new Error("requested output is too big");if(this.reseedCnt>2**48)throw new Error("entropy exhausted");if(n){if(ye(n),n.length>this.state.length)throw new Error(
"info length is too big");this.update(n)}let r=new Uint8Array(t);return er(this.key,this.nonce).encrypt(r,r),Zn(this.nonce,!1,Math.ceil(t/this.blockLen)),this.update(
n),this.reseedCnt++,r}clean(){this.state.fill(0),this.reseedCnt=0,this.destroyed=!0}},Jc=e=>(t,n=void 0)=>new tr(e,t,n);var xf=Jc(256);var Af=e=>Uint8Array.from(e.split(""),t=>t.charCodeAt(0)),Zc=Ze(je(Af("expand 16-byte k"))),Qc=Ze(je(Af("expand 32-byte k")));function ne(e,t){return e<<t|e>>>32-
t}var en=64,es=16,rr=2**32-1,Ef=Uint32Array.of();function ts(e,t,n,r,f,o,c,s){let i=f.length,y=new Uint8Array(en),E=je(y),g=rt&&bt(f)&&bt(o),A=g?je(f):Ef,T=g?je(
o):Ef;if(!rt){for(let _=0;_<i;c++){if(e(t,n,r,E,c,s),Ze(E),c>=rr)throw new Error("arx: counter overflow");let U=Math.min(en,i-_);for(let N=0,j;N<U;N++)j=_+N,o[j]=
f[j]^y[N];_+=U}return}for(let _=0;_<i;c++){if(e(t,n,r,E,c,s),c>=rr)throw new Error("arx: counter overflow");let U=Math.min(en,i-_);if(g&&U===en){let N=_/4;if(_%
4!==0)throw new Error("arx: invalid block position");for(let j=0,J;j<es;j++)J=N+j,T[J]=A[J]^E[j];_+=en;continue}for(let N=0,j;N<U;N++)j=_+N,o[j]=f[j]^y[N];_+=U}}
function Tf(e,t){let{allowShortKeys:n,extendNonceFn:r,counterLength:f,counterRight:o,rounds:c}=yf({allowShortKeys:!1,counterLength:8,counterRight:!1,rounds:20},
t);if(typeof e!="function")throw new Error("core must be a function");return Bt(f),Bt(c),Xn(o),Xn(n),(s,i,y,E,g=0)=>{ye(s,void 0,"key"),ye(i,void 0,"nonce"),ye(
y,void 0,"data");let A=y.length,T=E!==void 0;if(E=Ln(A,E,!1),T&&_n(y,E),Bt(g),g<0||g>=rr)throw new Error("arx: counter overflow");let _=[],U=s.length,N,j;if(U===
32)_.push(N=Ut(s)),j=Qc;else if(U===16&&n)N=new Uint8Array(32),N.set(s),N.set(s,16),j=Zc,_.push(N);else throw ye(s,32,"arx key"),new Error("invalid key size");(!rt||
!bt(i))&&_.push(i=Ut(i));let J=je(N);if(r){if(i.length!==24)throw new Error("arx: extended nonce must be 24 bytes");let C=i.subarray(0,16);if(rt)r(j,J,je(C),J);else{
let P=Ze(Uint32Array.from(j));r(P,J,je(C),J),mt(P),Ze(J)}i=i.subarray(16)}else rt||Ze(J);let I=16-f;if(I!==i.length)throw new Error(`arx: nonce must be ${I} or \
16 bytes`);if(I!==12){let C=new Uint8Array(12);C.set(i,o?0:12-i.length),i=C,_.push(i)}let M=Ze(je(i));try{return ts(e,j,J,M,y,E,g,c),E}finally{mt(..._)}}}function ns(e,t,n,r,f,o=20){let c=e[0],s=e[1],i=e[2],y=e[3],E=t[0],g=t[1],A=t[2],T=t[3],_=t[4],U=t[5],N=t[6],j=t[7],J=f,I=n[0],M=n[1],C=n[2],P=c,H=s,K=i,k=y,q=E,
X=g,re=A,ue=T,me=_,pe=U,le=N,we=j,_e=J,xe=I,Ee=M,Ae=C;for(let Pe=0;Pe<o;Pe+=2)P=P+q|0,_e=ne(_e^P,16),me=me+_e|0,q=ne(q^me,12),P=P+q|0,_e=ne(_e^P,8),me=me+_e|0,q=
ne(q^me,7),H=H+X|0,xe=ne(xe^H,16),pe=pe+xe|0,X=ne(X^pe,12),H=H+X|0,xe=ne(xe^H,8),pe=pe+xe|0,X=ne(X^pe,7),K=K+re|0,Ee=ne(Ee^K,16),le=le+Ee|0,re=ne(re^le,12),K=K+
re|0,Ee=ne(Ee^K,8),le=le+Ee|0,re=ne(re^le,7),k=k+ue|0,Ae=ne(Ae^k,16),we=we+Ae|0,ue=ne(ue^we,12),k=k+ue|0,Ae=ne(Ae^k,8),we=we+Ae|0,ue=ne(ue^we,7),P=P+X|0,Ae=ne(Ae^
P,16),le=le+Ae|0,X=ne(X^le,12),P=P+X|0,Ae=ne(Ae^P,8),le=le+Ae|0,X=ne(X^le,7),H=H+re|0,_e=ne(_e^H,16),we=we+_e|0,re=ne(re^we,12),H=H+re|0,_e=ne(_e^H,8),we=we+_e|
0,re=ne(re^we,7),K=K+ue|0,xe=ne(xe^K,16),me=me+xe|0,ue=ne(ue^me,12),K=K+ue|0,xe=ne(xe^K,8),me=me+xe|0,ue=ne(ue^me,7),k=k+q|0,Ee=ne(Ee^k,16),pe=pe+Ee|0,q=ne(q^pe,
12),k=k+q|0,Ee=ne(Ee^k,8),pe=pe+Ee|0,q=ne(q^pe,7);let ae=0;r[ae++]=c+P|0,r[ae++]=s+H|0,r[ae++]=i+K|0,r[ae++]=y+k|0,r[ae++]=E+q|0,r[ae++]=g+X|0,r[ae++]=A+re|0,r[ae++]=
T+ue|0,r[ae++]=_+me|0,r[ae++]=U+pe|0,r[ae++]=N+le|0,r[ae++]=j+we|0,r[ae++]=J+_e|0,r[ae++]=I+xe|0,r[ae++]=M+Ee|0,r[ae++]=C+Ae|0}var Sf=Tf(ns,{counterRight:!1,counterLength:4,allowShortKeys:!1});/*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) */var rs=(e,t,n)=>z(e,t,n),fs=Ie;function fr(e,t="object"){if(e===null||typeof e!="object"||Array.isArray(e))throw new TypeError(t==="object"?"expected valid options object":`"${t}" expected ob\
ject, got type=${typeof e}`);return e}var _f=BigInt(0);var os=e=>e?`"${e}" `:"";function Lf(e,t=""){if(typeof e!="boolean")throw new TypeError(os(t)+"expected boolean, got type="+typeof e);return e}function Of(e){if(typeof e==
"bigint"){if(!ss(e))throw new RangeError("positive bigint expected, got "+e)}else fs(e);return e}function kf(e){let t=Of(e).toString(16);return t.length&1?"0"+t:t}function vf(e){if(typeof e!="string")throw new TypeError("hex string expected, got "+typeof e);
return e===""?_f:BigInt("0x"+e)}function or(e){return vf(pt(e))}function Bf(e){return vf(pt(cs(z(e)).reverse()))}function Uf(e,t){if(Ie(t),t===0)throw new Error(
"zero output length is invalid");e=Of(e);let n=t*2,r=e.toString(16);if(r.length>n)throw new RangeError("number is too large");return Wt(r.padStart(n,"0"))}function cs(e){return Uint8Array.from(rs(e))}function ss(e){return typeof e=="bigint"&&_f<=e}function If(e,t={},n={},r="object"){fr(e,r),fr(t,"fields"),fr(n,"optFields");function f(c,s,i){let y=r==="object"?`param "${String(c)}"`:`"${r}.${String(c)}"`,E=e[c];
if(!Object.hasOwn(e,c)&&(i?E!==void 0:s!=="function"))throw new TypeError(`${y} is invalid: expected own property`);if(i&&E===void 0)return;let g=typeof E;if(g!==
s||E===null)throw new TypeError(`${y} is invalid: expected ${s}, got ${g}`)}let o=(c,s)=>Object.entries(c).forEach(([i,y])=>f(i,y,s));o(t,!1),o(n,!0)}/*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) */var tn=BigInt(0),cr=BigInt(1);function Rf(e,t){if(t<=tn)throw new Error("mod: expected positive modulus, got "+t);let n=e%t;return n>=tn?n:t+n}function sr(e,t){if(e===tn)throw new Error("invert: expected non-zero number");if(t<=cr)throw new Error("invert: expected modulus > 1, got "+t);let n=Rf(e,t),r=t,
f=tn,o=cr;for(;n!==tn;){let s=r/n,i=r-n*s,y=f-o*s;r=n,n=i,f=o,o=y}if(r!==cr)throw new Error("invert: does not exist");return Rf(f,t)}function nn(e,t="n"){if(typeof e!="number")throw new TypeError(`wrong u32 integer "${t}": expected number, got type=${typeof e}`);if(!Number.isSafeInteger(e)||e<
0||e>4294967295)throw new RangeError(`wrong u32 integer "${t}": expected 0..4294967295, got ${e}`);return e}function Ff(e){return nn(e,"x"),(e&e-1)===0&&e!==0}function ar(e,t){if(nn(e),typeof t!="number")throw new TypeError('"bits" expected number, got type='+typeof t);if(!Number.isSafeInteger(t)||t<0||t>32)throw new Error(
`expected integer 0 <= bits <= 32, got ${t}`);let n=0;for(let r=0;r<t;r++,e>>>=1)n=n<<1|e&1;return n>>>0}function Mf(e){return nn(e),31-Math.clz32(e)}function Nf(e){
if(!e||typeof e!="object"||typeof e.length!="number")throw new TypeError('"values" expected array-like, got type='+typeof e);let t=e.length;if(!Ff(t))throw new Error(
"expected positive power-of-two length, got "+t);let n=Mf(t);for(let r=0;r<t;r++){let f=ar(r,n);if(r<f){let o=e[r];e[r]=e[f],e[f]=o}}return e}var Pt=(e,t)=>{If(t,{N:"number",roots:"object",dit:"boolean"},{invertButterflies:"boolean",skipStages:"number",brp:"boolean"},"coreOpts");let{N:n,roots:r,dit:f,
invertButterflies:o=!1,skipStages:c=0,brp:s=!0}=t;nn(n,"coreOpts.N");let i=Mf(n);if(!Ff(n))throw new Error("FFT: Polynomial size should be power of two");nn(c,"\
coreOpts.skipStages");let y=i===0?0:i-1;if(c>y)throw new Error(`FFT: wrong skipStages: expected 0 <= skipStages <= ${y}`);if(r.length!==n)throw new Error(`FFT: \
wrong roots length: expected ${n}, got ${r.length}`);let E=f!==o;return g=>{if(g.length!==n)throw new Error("FFT: wrong Polynomial length");f&&s&&Nf(g);for(let A=0,
T=1;A<i-c;A++){let _=f?A+1+c:i-A,U=1<<_,N=U>>1,j=n>>_;for(let J=0;J<n;J+=U)for(let I=0,M=T++;I<N;I++){let C=o?f?n-M:M:I*j,P=J+I,H=J+I+N,K=r[C],k=g[H],q=g[P];if(E){
let X=e.mul(k,K);g[P]=e.add(q,X),g[H]=e.sub(q,X)}else o?(g[P]=e.add(k,q),g[H]=e.mul(e.sub(k,q),K)):(g[P]=e.add(q,k),g[H]=e.mul(e.sub(q,k),K))}}return!f&&s&&Nf(g),
g}};/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var qe=z;var Dt=kt;function as(e,t,n=()=>{}){if(!Array.isArray(e))throw new TypeError(`"${t}" expected array, got type=${typeof e}`);for(let r=0;r<e.length;r++)n(e[r],`${t}\
[${r}]`);return e}function is(e,t="object"){if(e===null||typeof e!="object"||Array.isArray(e))throw new TypeError(t==="object"?"expected valid options object":`\
"${t}" expected object, got type=${typeof e}`);return e}function rn(e,t){if(e=z(e),t=z(t),e.length!==t.length)return!1;let n=0;for(let r=0;r<e.length;r++)n|=e[r]^
t[r];return n===0}function Ke(e){return new Uint8Array(z(e))}function ds(e){let t=new Uint8Array(e.buffer,e.byteOffset,e.byteLength);for(let n=0;n<t.length;n+=8){
let r=t[n+0],f=t[n+1],o=t[n+2],c=t[n+3];t[n+0]=t[n+7],t[n+1]=t[n+6],t[n+2]=t[n+5],t[n+3]=t[n+4],t[n+4]=c,t[n+5]=o,t[n+6]=f,t[n+7]=r}return e}var ir=Vn?e=>e:ds;function bs(e){
if(Xt(e))throw new TypeError('"opts" expected object, got Uint8Array');is(e,"opts");let t=Object.getPrototypeOf(e);if(t!==null&&t!==Object.prototype)throw new TypeError(
'"opts" expected a plain object')}var us=Object.freeze(["context"]),dr=Object.freeze(["context","extraEntropy"]);function kn(e,t){bs(e);let n=Object.assign(Object.
create(null),e);for(let[r,f]of Object.entries(n))if(f!==void 0&&!t.includes(r))throw new TypeError('unexpected option "'+String(r)+'"; expected one of: '+t.join(
", "));return Object.freeze(n)}function ut(e,t=us){let n=kn(e,t);return n.context!==void 0&&z(n.context,void 0,"opts.context"),n}function ft(e,t=dr){let n=kn(e,
t);return n.context!==void 0&&z(n.context,void 0,"opts.context"),n.extraEntropy!==!1&&n.extraEntropy!==void 0&&z(n.extraEntropy,void 0,"opts.extraEntropy"),n}function ve(e,...t){
let n=f=>typeof f=="number"?f:f.bytesLen,r=t.reduce((f,o)=>f+n(o),0);return{bytesLen:r,encode:f=>{let o=new Uint8Array(r);for(let c=0,s=0;c<t.length;c++){let i=t[c],
y=n(i),E=typeof i=="number"?f[c]:i.encode(f[c]);z(E,y,e),o.set(E,s),typeof i!="number"&&E.fill(0),s+=y}return o},decode:f=>{z(f,r,e);let o=[];for(let c of t){let s=n(
c),i=f.subarray(0,s);o.push(typeof c=="number"?i:c.decode(i)),f=f.subarray(s)}return o}}}function ot(e,t){let n=e,r=t*n.bytesLen;return{bytesLen:r,encode:f=>{let o=as(
f,"u");if(o.length!==t)throw new RangeError(`vecCoder.encode: wrong length=${o.length}. Expected: ${t}`);let c=new Uint8Array(r);for(let s=0,i=0;s<o.length;s++){
let y=n.encode(o[s]);c.set(y,i),y.fill(0),i+=y.length}return c},decode:f=>{z(f,r);let o=[];for(let c=0;c<f.length;c+=n.bytesLen)o.push(n.decode(f.subarray(c,c+n.
bytesLen)));return o}}}function V(...e){for(let t of e)if(Array.isArray(t))for(let n of t)n.fill(0);else t.fill(0)}function Qe(e){if(Ie(e,"bits"),e>32)throw new RangeError(
'"bits" expected <= 32, got '+e);return e===32?4294967295:~(-1<<e)>>>0}var Cf=Uint8Array.of();function $t(e,t=Cf){if(z(e,void 0,"msg"),z(t,void 0,"ctx"),t.length>
255)throw new RangeError("context should be 255 bytes or less");return gt(new Uint8Array([0,t.length]),t,e)}var ls=Uint8Array.from([6,9,96,134,72,1,101,3,4,2]),
hs={"060960864801650304020b":32,"060960864801650304020c":64};function fn(e,t=0){if(typeof e!="function"||typeof e.create!="function")throw new TypeError('"hash"\
 expected hash function, got type='+typeof e);An(e),Ie(t,"requiredStrength");let n=e.oid;if(z(n,void 0,"hash.oid"),!rn(n.subarray(0,10),ls))throw new Error('"ha\
sh.oid" is invalid: expected NIST hash');let r=hs[pt(n)];if(r!==void 0&&e.outputLen!==r)throw new Error("Pre-hash XOF output length must be "+r+" bytes for this\
 OID, got: "+e.outputLen);let f=e.outputLen*8/2;if(t>f)throw new Error("Pre-hash security strength too low: "+f+", required: "+t)}function Kt(e,t,n=Cf){if(fn(e),
z(t,void 0,"msg"),z(n,void 0,"ctx"),n.length>255)throw new RangeError("context should be 255 bytes or less");let r=e(t);return gt(new Uint8Array([1,n.length]),n,
e.oid,r)}/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var vn=e=>{let{newPoly:t,N:n,Q:r,F:f,ROOT_OF_UNITY:o,brvBits:c,isKyber:s}=e,i=(I,M=r)=>{
let C=I%M|0;return(C>=0?C|0:M+C|0)|0},y=(I,M=r)=>{let C=i(I,M)|0;return(C>M>>1?C-M|0:C)|0};function E(){let I=t(n);for(let M=0;M<n;M++){let C=ar(M,c),P=BigInt(o)**
BigInt(C)%BigInt(r);I[M]=Number(P)|0}return I}let g=E(),A=I=>{throw new Error("not implemented")},T=s?{add:(I,M)=>{let C=I+M|0;return C>=r?C-r|0:C},sub:(I,M)=>{
let C=I-M|0;return C<0?C+r|0:C},mul:(I,M)=>i((I|0)*(M|0))|0,inv:A}:{add:(I,M)=>i((I|0)+(M|0))|0,sub:(I,M)=>i((I|0)-(M|0))|0,mul:(I,M)=>i((I|0)*(M|0))|0,inv:A},_={
N:n,roots:g,invertButterflies:!0,skipStages:s?1:0,brp:!1},U=Pt(T,{dit:!1,..._}),N=Pt(T,{dit:!0,..._}),j={encode:I=>U(I),decode:I=>{N(I);for(let M=0;M<I.length;M++)
I[M]=i(f*I[M]);return I}};return{mod:i,smod:y,nttZetas:g,NTT:{encode:I=>j.encode(I),decode:I=>j.decode(I)},bitsCoder:(I,M)=>{for(let H=0,K=0;H<n;H++)K+=I,K>32&&
Qe(K),K%=8;let C=Qe(I),P=I*(n/8);return{bytesLen:P,encode:H=>{let K=H,k=new Uint8Array(P);for(let q=0,X=0,re=0,ue=0;q<K.length;q++)for(X|=(M.encode(K[q])&C)<<re,
re+=I;re>=8;re-=8,X>>=8)k[ue++]=X&255;return k},decode:H=>{let K=t(n);for(let k=0,q=0,X=0,re=0;k<H.length;k++)for(q|=H[k]<<X,X+=8;X>=I;X-=I,q>>=I)K[re++]=M.decode(
q&C);return K}}}}},Hf=e=>(t,n)=>{n||(n=e.blockLen);let r=new Uint8Array(t.length+2);r.set(t);let f=t.length,o=new Uint8Array(n),c=e.create({}),s=0,i=0;return{stats:()=>({
calls:s,xofs:i}),get:(y,E)=>(r[f+0]=y,r[f+1]=E,c.destroy(),c=e.create({}).update(r),s++,()=>(i++,c.xofInto(o))),clean:()=>{c.destroy(),V(o,r)}}},jf=Hf(bf),Pf=Hf(
ke);/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Df=(e,t,n,r)=>{let f=Qe(n),o=n*(t/8);return{bytesLen:o,encode:c=>{if(c.length!==
t)throw new Error(`wrong length: expected ${t}, got ${c.length}`);let s=new Uint8Array(o);for(let i=0,y=0,E=0,g=0;i<c.length;i++)for(y=y<<n|r.encode(c[i])&f,E+=
n;E>=8;E-=8)s[g++]=y>>>E-8&255;return s},decode:c=>{let s=e(t);for(let i=0,y=0,E=0,g=0;i<c.length;i++)for(y=y<<8|c[i],E+=8;E>=n;E-=n)s[g++]=r.decode(y>>>E-n&f);
return s}}},zt=(e,t)=>{let n=t;return{bytesLen:1+n.bytesLen,encode(r){let f=n.encode(r),o=new Uint8Array(1+f.length);return o[0]=e,o.set(f,1),V(f),o},decode(r){
if(r[0]!==e)throw new Error(`wrong tag: expected ${e}, got 0x${r[0]}`);return n.decode(r.subarray(1))}}},qt=e=>({encode(n){if(n.length!==e)throw new Error("wron\
g length");let r=[],f=0,o=0,c=(s,i)=>{for(o+=s,f=f<<s|i;o>=8;f&=Qe(o))o-=8,r.push(f>>>o&255)};for(let s=0;s<e;s++){let i=n[s];if(!Number.isInteger(i)||i<-2047||
i>2047)throw new Error(`data[${s}]=${i} out of range`);let y=i<0?1:0;i=Math.abs(i),c(1,y),c(7,i&127),c((i>>>7)+1,1)}return o>0&&r.push(f<<8-o&255),new Uint8Array(
r)},decode(n){let r=new Int16Array(e),f=0,o=0,c=0,s=i=>{for(;o<i&&c<n.length;o+=8)f=f<<8|n[c++];if(o<i)throw new Error(`end of buffer: len=${o} buf=${f} lastByt\
e=${n[c]}`);o-=i;let y=f>>>o;return f&=Qe(o),y};for(let i=0;i<e;i++){let y=s(1),E=s(7),g=0;for(;!s(1);)if(g++,g>15)throw new Error(`limit: ${E|g<<7} > 2047`);let A=E|
g<<7;if(y&&A===0)throw new Error("negative zero encoding");if(A>2047)throw new Error(`limit: ${A} > 2047`);r[i]=y?-A:A}if(f)throw new Error("non-empty accumulat\
or");return r}}),$f=e=>({encode(t){let n=new Uint8Array(e);return n.set(t),n},decode(t){let n=t.length;for(;n>0&&t[n-1]===0;)n--;return t.subarray(0,n)}}),br=(...e)=>{
for(let t of e)for(let n=0;n<t.length;n++)t[n].re=0,t[n].im=0};function ys(e){let t=e;return{lift:n=>n.re!==void 0&&n.im!==void 0?n:{re:n,im:t.ZERO},add:(n,r)=>({
re:t.add(n.re,r.re),im:t.add(n.im,r.im)}),sub:(n,r)=>({re:t.sub(n.re,r.re),im:t.sub(n.im,r.im)}),mul:(n,r)=>({re:t.sub(t.mul(n.re,r.re),t.mul(n.im,r.im)),im:t.add(
t.mul(n.re,r.im),t.mul(n.im,r.re))}),div:(n,r)=>{let f=t.add(t.mul(r.re,r.re),t.mul(r.im,r.im));return{re:t.div(t.add(t.mul(n.re,r.re),t.mul(n.im,r.im)),f),im:t.
div(t.sub(t.mul(n.im,r.re),t.mul(n.re,r.im)),f)}},neg:n=>({re:t.neg(n.re),im:t.neg(n.im)}),conj:n=>({re:n.re,im:t.neg(n.im)}),scale:(n,r)=>({re:t.mul(n.re,r),im:t.
mul(n.im,r)}),magSqSum:(n,r)=>t.add(t.add(t.add(t.mul(n.re,n.re),t.mul(n.im,n.im)),t.mul(r.re,r.re)),t.mul(r.im,r.im)),eql:(n,r)=>t.eql(n.re,r.re)&&t.eql(n.im,r.
im),clone:n=>({re:n.re,im:n.im}),inv:()=>{throw new Error("not implemented")}}}var ur={decode(e){let n=e.length>>1,r=e.length;if(r===0)return[];if(r%2!==0)throw new Error(
"Array length must be even to pair real and imaginary parts.");let f=[];for(let o=0;o<n;o++)f.push({re:e[o],im:e[o+n]});return f},encode(e){let t=[],n=[];for(let r of e)
t.push(r.re),n.push(r.im);return[...t,...n]}},ps={decode(e){let t=e.length;if(t===0)return[];if(t%2!==0)throw new Error("Array length must be even to pair real \
and imaginary parts.");let n=[];for(let r=0;r<t;r+=2)n.push({re:e[r],im:e[r+1]});return n},encode(e){let t=[];for(let n of e)t.push(n.re),t.push(n.im);return t}},
gs=e=>new Uint8Array(e.buffer,e.byteOffset,e.byteLength),ms=e=>new Float64Array(ir(Uint8Array.from(e.subarray(0,Math.floor(e.byteLength/8)*8))).buffer),ws=Object.
freeze({encode(e){let t=new Uint8Array(8);return new DataView(t.buffer,t.byteOffset,t.byteLength).setFloat64(0,e,!1),pt(t)},decode(e){let t=Wt(e);return new DataView(
t.buffer,t.byteOffset,t.byteLength).getFloat64(0,!1)}}),Te=e=>ws.decode(kf(e)),xs=new Uint8Array(64),Re=40,Ve=12289,Es=Ve>>1,pr=BigInt(Ve),ct=BigInt(0),lr=BigInt(
1),Kf=BigInt(10),As=BigInt(25),hr=BigInt(31),Ts=BigInt(32),Ss=BigInt(63),_s=BigInt(64),Ls=BigInt("0xffffffff"),zf=BigInt("0x7fffffffffffffff"),Gf=10952,Os=12287,
Yf=1/Ve,ks=-Yf,vs=[1,1,2,2,4,7,14,27,53,106,209],Bs=[2,2,5,7,12,21,40,78,157,308],Us=Te(BigInt("4670353323383631276")),Bn=[{avg:4,std:0},{avg:11,std:1},{avg:24,
std:1},{avg:50,std:1},{avg:102,std:1},{avg:202,std:2},{avg:401,std:4},{avg:794,std:5},{avg:1577,std:8},{avg:3138,std:13},{avg:6308,std:25}],yr=["128386877040064\
3928","6416574995475331444","4078260278032692663","2353523259288686585","1227179971273316331","575931623374121527","242543240509105209","91437049221049666","307\
99446349977173","9255276791179340","2478152334826140","590642893610164","125206034929641","23590435911403","3948334035941","586753615614","77391054539","9056793\
210","940121950","86539696","7062824","510971","32764","1862","94","4","0"].map(BigInt),Is=Object.freeze([0,Te(BigInt("4574611497772390042")),Te(BigInt("4574501\
679055810265")),Te(BigInt("4574396282908341804")),Te(BigInt("4574245855758572086")),Te(BigInt("4574103865040221165")),Te(BigInt("4573969550563515544")),Te(BigInt(
"4573842244705920822")),Te(BigInt("4573721358406441454")),Te(BigInt("4573606369665796042")),Te(BigInt("4573496814039276259"))]),qf=Object.freeze([0,Te(BigInt("4\
607707126469777035")),Te(BigInt("4607777455861499430")),Te(BigInt("4607846828256951418")),Te(BigInt("4607949175006100261")),Te(BigInt("4608049571757433526")),Te(
BigInt("4608148125896792003")),Te(BigInt("4608244935301382692")),Te(BigInt("4608340089478362016")),Te(BigInt("4608433670533905013")),Te(BigInt("4608525754002622\
308"))]),Rs=1.8205,Un=new Uint32Array([10745844,3068844,3741698,5559083,1580863,8248194,2260429,13669192,2736639,708981,4421575,10046180,169348,7122675,4136815,
30538,13063405,7650655,4132,14505003,7826148,417,16768101,11363290,31,8444042,8086568,1,12844466,265321,0,1232676,13644283,0,38047,9111839,0,870,6138264,0,14,12545723,
0,0,3104126,0,0,28824,0,0,198,0,0,1]),Xf=[0,101498,208714,428865,892039,1852696,3842630,7959734,16468416,34034726,70265242],Ns=(()=>{let e=ms(Wt("00000000000000\
0000000000000000000000000000000080000000000000f03fcd3b7f669ea0e63fcd3b7f669ea0e63fcd3b7f669ea0e6bfcd3b7f669ea0e63f468d32cf6b90ed3f63a9aea6e27dd83f63a9aea6e27dd8\
bf468d32cf6b90ed3f63a9aea6e27dd83f468d32cf6b90ed3f468d32cf6b90edbf63a9aea6e27dd83fb05cf7cf9762ef3f0ba6693cb8f8c83f0ba6693cb8f8c8bfb05cf7cf9762ef3fc868ae393bc7e1\
3fa3a10e29669bea3fa3a10e29669beabfc868ae393bc7e13fa3a10e29669bea3fc868ae393bc7e13fc868ae393bc7e1bfa3a10e29669bea3f0ba6693cb8f8c83fb05cf7cf9762ef3fb05cf7cf9762ef\
bf0ba6693cb8f8c83f2625d1a38dd8ef3f2cb429bca617b93f2cb429bca617b9bf2625d1a38dd8ef3fd61d0925f34ce43f4117156b80bce83f4117156b80bce8bfd61d0925f34ce43fb1bd80f1b238ec\
3f3bf606385d2bde3f3bf606385d2bdebfb1bd80f1b238ec3f069fd52e0694d23fda2dc656419fee3fda2dc656419feebf069fd52e0694d23fda2dc656419fee3f069fd52e0694d23f069fd52e0694d2\
bfda2dc656419fee3f3bf606385d2bde3fb1bd80f1b238ec3fb1bd80f1b238ecbf3bf606385d2bde3f4117156b80bce83fd61d0925f34ce43fd61d0925f34ce4bf4117156b80bce83f2cb429bca617b9\
3f2625d1a38dd8ef3f2625d1a38dd8efbf2cb429bca617b93f7e6d79e321f6ef3f14d80df1651fa93f14d80df1651fa9bf7e6d79e321f6ef3fa0ec8c34697de53fafaf6a22dfb5e73fafaf6a22dfb5e7\
bfa0ec8c34697de53f73c73cf47aedec3fc05ce109105ddb3fc05ce109105ddbbf73c73cf47aedec3fdd1fab759a8fd53fe586f6042121ee3fe586f6042121eebfdd1fab759a8fd53fd73092fb7e0aef\
3f1b5f217bf919cf3f1b5f217bf919cfbfd73092fb7e0aef3feeff22998773e03f3e6e19458372eb3f3e6e19458372ebbfeeff22998773e03f4187f347e0b3e93f3570e1fcf70fe33f3570e1fcf70fe3\
bf4187f347e0b3e93f3a618e6e10c8c23f17a5087f55a7ef3f17a5087f55a7efbf3a618e6e10c8c23f17a5087f55a7ef3f3a618e6e10c8c23f3a618e6e10c8c2bf17a5087f55a7ef3f3570e1fcf70fe3\
3f4187f347e0b3e93f4187f347e0b3e9bf3570e1fcf70fe33f3e6e19458372eb3feeff22998773e03feeff22998773e0bf3e6e19458372eb3f1b5f217bf919cf3fd73092fb7e0aef3fd73092fb7e0aef\
bf1b5f217bf919cf3fe586f6042121ee3fdd1fab759a8fd53fdd1fab759a8fd5bfe586f6042121ee3fc05ce109105ddb3f73c73cf47aedec3f73c73cf47aedecbfc05ce109105ddb3fafaf6a22dfb5e7\
3fa0ec8c34697de53fa0ec8c34697de5bfafaf6a22dfb5e73f14d80df1651fa93f7e6d79e321f6ef3f7e6d79e321f6efbf14d80df1651fa93f0dcd846088fdef3f7e66a3f75521993f7e66a3f7552199\
bf0dcd846088fdef3fdf2c1d55b710e63f96ffef37082de73f96ffef37082de7bfdf2c1d55b710e63f3ac94dd13441ed3f8aeda84379efd93f8aeda84379efd9bf3ac94dd13441ed3f9f45fa308508d7\
3f3cc2ccb613dbed3f3cc2ccb613dbedbf9f45fa308508d73f89e564acf338ef3f634f7e6a820bcc3f634f7e6a820bccbf89e564acf338ef3f234b1b54b31ee13f000215580a09eb3f000215580a09eb\
bf234b1b54b31ee13f822746a0a729ea3fdf12dd4c056de23fdf12dd4c056de2bf822746a0a729ea3fc63f8b4414e2c53fa94b71fa6487ef3fa94b71fa6487efbfc63f8b4414e2c53fd39fe17064c2ef\
3f0e73a9564e56bf3f0e73a9564e56bfbfd39fe17064c2ef3fb9502029faafe33ffb639249223ae93ffb639249223ae9bfb9502029faafe33f2a956facc0d7eb3fba9af8dba48bdf3fba9af8dba48bdf\
bf2a956facc0d7eb3f77f6b162d211d13f634968e740d7ee3f634968e740d7eebf77f6b162d211d13f12e148ec8862ee3f016617945c13d43f016617945c13d4bf12e148ec8862ee3f5ec431996ec6dc\
3ff51134214b95ec3ff51134214b95ecbf5ec431996ec6dc3f6e97ff0b0e3be83fe9e5e3bbcae6e43fe9e5e3bbcae6e4bf6e97ff0b0e3be83ff619ce9220d5b23f3a8801adcde9ef3f3a8801adcde9ef\
bff619ce9220d5b23f3a8801adcde9ef3ff619ce9220d5b23ff619ce9220d5b2bf3a8801adcde9ef3fe9e5e3bbcae6e43f6e97ff0b0e3be83f6e97ff0b0e3be8bfe9e5e3bbcae6e43ff51134214b95ec\
3f5ec431996ec6dc3f5ec431996ec6dcbff51134214b95ec3f016617945c13d43f12e148ec8862ee3f12e148ec8862eebf016617945c13d43f634968e740d7ee3f77f6b162d211d13f77f6b162d211d1\
bf634968e740d7ee3fba9af8dba48bdf3f2a956facc0d7eb3f2a956facc0d7ebbfba9af8dba48bdf3ffb639249223ae93fb9502029faafe33fb9502029faafe3bffb639249223ae93f0e73a9564e56bf\
3fd39fe17064c2ef3fd39fe17064c2efbf0e73a9564e56bf3fa94b71fa6487ef3fc63f8b4414e2c53fc63f8b4414e2c5bfa94b71fa6487ef3fdf12dd4c056de23f822746a0a729ea3f822746a0a729ea\
bfdf12dd4c056de23f000215580a09eb3f234b1b54b31ee13f234b1b54b31ee1bf000215580a09eb3f634f7e6a820bcc3f89e564acf338ef3f89e564acf338efbf634f7e6a820bcc3f3cc2ccb613dbed\
3f9f45fa308508d73f9f45fa308508d7bf3cc2ccb613dbed3f8aeda84379efd93f3ac94dd13441ed3f3ac94dd13441edbf8aeda84379efd93f96ffef37082de73fdf2c1d55b710e63fdf2c1d55b710e6\
bf96ffef37082de73f7e66a3f75521993f0dcd846088fdef3f0dcd846088fdefbf7e66a3f75521993fdb929b1662ffef3f84c7defcd121893f84c7defcd12189bfdb929b1662ffef3f3d78f0251959e6\
3fafa8ea5444e7e63fafa8ea5444e7e6bf3d78f0251959e63f8be6c9736169ed3fd793bc632a37d93fd793bc632a37d9bf8be6c9736169ed3fe7cc1d31a9c3d73f9ba0386252b6ed3f9ba0386252b6ed\
bfe7cc1d31a9c3d73f2d2f0b3b604eef3f5104b025a082ca3f5104b025a082cabf2d2f0b3b604eef3f49dbde634d73e13f11d5219ebcd2ea3f11d5219ebcd2eabf49dbde634d73e13fe2fa021b0963ea\
3f59eb3399791ae23f59eb3399791ae2bfe2fa021b0963ea3f31bf50ded96dc73f7720a1a39975ef3f7720a1a39975efbf31bf50ded96dc73f7ba66dfd15ceef3fd5c29ec78537bc3fd5c29ec78537bc\
bf7ba66dfd15ceef3fd4564553d9fee33f0d94efa3ccfbe83f0d94efa3ccfbe8bfd4564553d9fee33f49557226c408ec3fd678ef5219dcde3fd678ef5219dcdebf49557226c408ec3f3edb4c3f44d3d1\
3f740bdfc8d8bbee3f740bdfc8d8bbeebf3edb4c3f44d3d13f0dd14cab7b81ee3f5281e1c21054d33f5281e1c21054d3bf0dd14cab7b81ee3f89e3865b7779dd3f9b7388348b67ec3f9b7388348b67ec\
bf89e3865b7779dd3fbf2eba0f407ce83f39099b9b449ae43f39099b9b449ae4bfbf2eba0f407ce83f19a49a0ad0f6b53f095bbdfccae1ef3f095bbdfccae1efbf19a49a0ad0f6b53fad718e6595f0ef\
3fe020f8796e65af3fe020f8796e65afbfad718e6595f0ef3f9655a3928232e53f711757e3ecf8e73f711757e3ecf8e7bf9655a3928232e53f5cfcfcf3f0c1ec3fe71e01d84912dc3fe71e01d84912dc\
bf5cfcfcf3f0c1ec3f6ae77842e2d1d43f7ec12b4b6a42ee3f7ec12b4b6a42eebf6ae77842e2d1d43fc273e4a378f1ee3faefd370eb84fd03faefd370eb84fd0bfc273e4a378f1ee3fb73e4c87fc1ce0\
3fd2903567aaa5eb3fd2903567aaa5ebbfb73e4c87fc1ce03f42d7c7f47e77e93ff35906b15860e33ff35906b15860e3bf42d7c7f47e77e93f77f5dacef039c13f41d7957179b5ef3f41d7957179b5ef\
bf77f5dacef039c13f9b09c924f997ef3f5a3e29b17655c43f5a3e29b17655c4bf9b09c924f997ef3feaf3fa25dbbee23f94af29ef43efe93f94af29ef43efe9bfeaf3fa25dbbee23f1257f53e4d3eeb\
3f8f895d4d70c9e03f8f895d4d70c9e0bf1257f53e4d3eeb3f114345e54f93cd3fda3a76f75222ef3fda3a76f75222efbf114345e54f93cd3f2bbe2d62aefeed3fc6273fdd7d4cd63fc6273fdd7d4cd6\
bf2bbe2d62aefeed3fca3f6d2bc8a6da3fdc353e74e717ed3fdc353e74e717edbfca3f6d2bc8a6da3f6172035fe771e73f8c0165be7bc7e53f8c0165be7bc7e5bf6172035fe771e73fcd55947565d8a2\
3f5df7feef72faef3f5df7feef72faefbfcd55947565d8a23f5df7feef72faef3fcd55947565d8a23fcd55947565d8a2bf5df7feef72faef3f8c0165be7bc7e53f6172035fe771e73f6172035fe771e7\
bf8c0165be7bc7e53fdc353e74e717ed3fca3f6d2bc8a6da3fca3f6d2bc8a6dabfdc353e74e717ed3fc6273fdd7d4cd63f2bbe2d62aefeed3f2bbe2d62aefeedbfc6273fdd7d4cd63fda3a76f75222ef\
3f114345e54f93cd3f114345e54f93cdbfda3a76f75222ef3f8f895d4d70c9e03f1257f53e4d3eeb3f1257f53e4d3eebbf8f895d4d70c9e03f94af29ef43efe93feaf3fa25dbbee23feaf3fa25dbbee2\
bf94af29ef43efe93f5a3e29b17655c43f9b09c924f997ef3f9b09c924f997efbf5a3e29b17655c43f41d7957179b5ef3f77f5dacef039c13f77f5dacef039c1bf41d7957179b5ef3ff35906b15860e3\
3f42d7c7f47e77e93f42d7c7f47e77e9bff35906b15860e33fd2903567aaa5eb3fb73e4c87fc1ce03fb73e4c87fc1ce0bfd2903567aaa5eb3faefd370eb84fd03fc273e4a378f1ee3fc273e4a378f1ee\
bfaefd370eb84fd03f7ec12b4b6a42ee3f6ae77842e2d1d43f6ae77842e2d1d4bf7ec12b4b6a42ee3fe71e01d84912dc3f5cfcfcf3f0c1ec3f5cfcfcf3f0c1ecbfe71e01d84912dc3f711757e3ecf8e7\
3f9655a3928232e53f9655a3928232e5bf711757e3ecf8e73fe020f8796e65af3fad718e6595f0ef3fad718e6595f0efbfe020f8796e65af3f095bbdfccae1ef3f19a49a0ad0f6b53f19a49a0ad0f6b5\
bf095bbdfccae1ef3f39099b9b449ae43fbf2eba0f407ce83fbf2eba0f407ce8bf39099b9b449ae43f9b7388348b67ec3f89e3865b7779dd3f89e3865b7779ddbf9b7388348b67ec3f5281e1c21054d3\
3f0dd14cab7b81ee3f0dd14cab7b81eebf5281e1c21054d33f740bdfc8d8bbee3f3edb4c3f44d3d13f3edb4c3f44d3d1bf740bdfc8d8bbee3fd678ef5219dcde3f49557226c408ec3f49557226c408ec\
bfd678ef5219dcde3f0d94efa3ccfbe83fd4564553d9fee33fd4564553d9fee3bf0d94efa3ccfbe83fd5c29ec78537bc3f7ba66dfd15ceef3f7ba66dfd15ceefbfd5c29ec78537bc3f7720a1a39975ef\
3f31bf50ded96dc73f31bf50ded96dc7bf7720a1a39975ef3f59eb3399791ae23fe2fa021b0963ea3fe2fa021b0963eabf59eb3399791ae23f11d5219ebcd2ea3f49dbde634d73e13f49dbde634d73e1\
bf11d5219ebcd2ea3f5104b025a082ca3f2d2f0b3b604eef3f2d2f0b3b604eefbf5104b025a082ca3f9ba0386252b6ed3fe7cc1d31a9c3d73fe7cc1d31a9c3d7bf9ba0386252b6ed3fd793bc632a37d9\
3f8be6c9736169ed3f8be6c9736169edbfd793bc632a37d93fafa8ea5444e7e63f3d78f0251959e63f3d78f0251959e6bfafa8ea5444e7e63f84c7defcd121893fdb929b1662ffef3fdb929b1662ffef\
bf84c7defcd121893f928a8e85d8ffef3f710067fef021793f710067fef02179bf928a8e85d8ffef3f10af9184f77ce63f7582c1730dc4e63f7582c1730dc4e6bf10af9184f77ce63ff9ecb8020b7ded\
3fb0a4c82ea5dad83fb0a4c82ea5dad8bff9ecb8020b7ded3fc4aa4eb0e320d83f888966a983a3ed3f888966a983a3edbfc4aa4eb0e320d83f849e78b1a258ef3f6643dcf2cbbdc93f6643dcf2cbbdc9\
bf849e78b1a258ef3fb8b9f2095a9de13fd4c0165932b7ea3fd4c0165932b7eabfb8b9f2095a9de13f9de69f52587fea3f1b86bc8bf0f0e13f1b86bc8bf0f0e1bf9de69f52587fea3fc6649ce86633c8\
3fb7bbf57d3f6cef3fb7bbf57d3f6cefbfc6649ce86633c83f840b221479d3ef3f035c4924b7a7ba3f035c4924b7a7babf840b221479d3ef3fb16b8e17ff25e43fcc98163345dce83fcc98163345dce8\
bfb16b8e17ff25e43fb071a93fde20ec3f1451f8eae083de3f1451f8eae083debfb071a93fde20ec3f71bbc3abbb33d23f8ea8e7e8b2adee3f8ea8e7e8b2adeebf71bbc3abbb33d23ff2f71d368490ee\
3f8703ecda22f4d23f8703ecda22f4d2bff2f71d368490ee3f58cc81148fd2dd3f07692b014250ec3f07692b014250ecbf58cc81148fd2dd3faad44d9a7e9ce83f4773981bb573e43f4773981bb573e4\
bfaad44d9a7e9ce83f215b5d6a5887b73f56f4f19f53ddef3f56f4f19f53ddefbf215b5d6a5887b73f5c578d0f83f3ef3fe3d7c0128d42ac3fe3d7c0128d42acbf5c578d0f83f3ef3f375197381058e5\
3fb23dc36c83d7e73fb23dc36c83d7e7bf375197381058e53ff6328b89d9d7ec3f01bd0423cfb7db3f01bd0423cfb7dbbff6328b89d9d7ec3f243caf80d830d53f25ce70e8ea31ee3f25ce70e8ea31ee\
bf243caf80d830d53fec950b0c22feee3ff9eddf1adcdccf3ff9eddf1adcdccfbfec950b0c22feee3f1a22ae265648e03fe90475d2388ceb3fe90475d2388cebbf1a22ae265648e03f220dd82ecf95e9\
3f578e0c0d4038e33f578e0c0d4038e3bf220dd82ecf95e93fcf7becd41601c23fbbcf468e8eaeef3fbbcf468e8eaeefbfcf7becd41601c23fc8b2ad55ce9fef3f148dcdb0db8ec33f148dcdb0db8ec3\
bfc8b2ad55ce9fef3f17eae8e380e7e23fd580eaf5b1d1e93fd580eaf5b1d1e9bf17eae8e380e7e23f051492fe8958eb3fe1c51774909ee03fe1c51774909ee0bf051492fe8958eb3f1b1a101eca56ce\
3f5d20f7538f16ef3f5d20f7538f16efbf1b1a101eca56ce3fac8029ca0c10ee3f93a69e3727eed53f93a69e3727eed5bfac8029ca0c10ee3f09407f6c0d02db3f92bdb2fed402ed3f92bdb2fed402ed\
bf09407f6c0d02db3fe5554f570094e73f50725d2a8da2e53f50725d2a8da2e5bfe5554f570094e73f43cd90d200fca53fdf81dbda71f8ef3fdf81dbda71f8efbf43cd90d200fca53ff8d3f11d25fcef\
3f01cfd13137699f3f01cfd13137699fbff8d3f11d25fcef3f7470839534ece53f8dd2a88d944fe73f8dd2a88d944fe7bf7470839534ece53f9fefe020b22ced3fe5a1de27414bda3fe5a1de27414bda\
bf9fefe020b22ced3f177ec77d9daad63fda47def705eded3fda47def705ededbf177ec77d9daad63f9d9a08c9c92def3f86b212b38ccfcc3f86b212b38ccfccbf9d9a08c9c92def3f7e8e2abb26f4e0\
3fb4130047cd23eb3fb4130047cd23ebbf7e8e2abb26f4e03f37f9baea950cea3fa89c62270796e23fa89c62270796e2bf37f9baea950cea3ff2c59785df1bc53fdb41aeffd58fef3fdb41aeffd58fef\
bff2c59785df1bc53f8641e41716bcef3f1d83ba47a072c03f1d83ba47a072c0bf8641e41716bcef3f22ebdf854188e33fd76d8ee4ef58e93fd76d8ee4ef58e9bf22ebdf854188e33fea8093c4d7beeb\
3f1012e74bf6e2df3f1012e74bf6e2dfbfea8093c4d7beeb3f90dbdbcfd9b0d03fbc9d5ae282e4ee3fbc9d5ae282e4eebf90dbdbcfd9b0d03ffc9f72049f52ee3f541057a5b872d43f541057a5b872d4\
bffc9f72049f52ee3f0b0097497f6cdc3f00b9a069c1abec3f00b9a069c1abecbf0b0097497f6cdc3fcc7ab5331b1ae83f9ba0599fc00ce53f9ba0599fc00ce5bfcc7ab5331b1ae83fb309d7340144b1\
3fc473b6ec58edef3fc473b6ec58edefbfb309d7340144b13f40392eaff3e5ef3f962027791166b43f962027791166b4bf40392eaff3e5ef3f0400ec45a1c0e43fcc58e91ac55be83fcc58e91ac55be8\
bf0400ec45a1c0e43ff33c23528e7eec3f5bdbe9e81620dd3f5bdbe9e81620ddbff33c23528e7eec3fb71404faceb3d33f44976adb2772ee3f44976adb2772eebfb71404faceb3d33f84bfc3d3b2c9ee\
3f775176d7a072d13f775176d7a072d1bf84bfc3d3b2c9ee3f67d03f960534df3fdd7753e164f0eb3fdd7753e164f0ebbf67d03f960534df3fa29dd46f161be93f4483c53882d7e33f4483c53882d7e3\
bfa29dd46f161be93fc99faecb0ec7bd3f21b7fe6c64c8ef3f21b7fe6c64c8efbfc99faecb0ec7bd3f6e3de629a67eef3fb24af60413a8c63fb24af60413a8c6bf6e3de629a67eef3f1fac98fbd543e2\
3fc89a11c87846ea3fc89a11c87846eabf1fac98fbd543e23f74143cb404eeea3feb6c33af1549e13feb6c33af1549e1bf74143cb404eeea3f22673def3247cb3fdd92ff85d043ef3fdd92ff85d043ef\
bf22673def3247cb3f600241cbd7c8ed3ff618240f3466d73ff618240f3466d7bf600241cbd7c8ed3fffbd41617193d93fb13ee9526f55ed3fb13ee9526f55edbfffbd41617193d93f7a6d17b3420ae7\
3fe91b1ca30335e63fe91b1ca30335e6bf7a6d17b3420ae73ffd0ee3bb36d9923fa1514bb49cfeef3fa1514bb49cfeefbffd0ee3bb36d9923fa1514bb49cfeef3ffd0ee3bb36d9923ffd0ee3bb36d992\
bfa1514bb49cfeef3fe91b1ca30335e63f7a6d17b3420ae73f7a6d17b3420ae7bfe91b1ca30335e63fb13ee9526f55ed3fffbd41617193d93fffbd41617193d9bfb13ee9526f55ed3ff618240f3466d7\
3f600241cbd7c8ed3f600241cbd7c8edbff618240f3466d73fdd92ff85d043ef3f22673def3247cb3f22673def3247cbbfdd92ff85d043ef3feb6c33af1549e13f74143cb404eeea3f74143cb404eeea\
bfeb6c33af1549e13fc89a11c87846ea3f1fac98fbd543e23f1fac98fbd543e2bfc89a11c87846ea3fb24af60413a8c63f6e3de629a67eef3f6e3de629a67eefbfb24af60413a8c63f21b7fe6c64c8ef\
3fc99faecb0ec7bd3fc99faecb0ec7bdbf21b7fe6c64c8ef3f4483c53882d7e33fa29dd46f161be93fa29dd46f161be9bf4483c53882d7e33fdd7753e164f0eb3f67d03f960534df3f67d03f960534df\
bfdd7753e164f0eb3f775176d7a072d13f84bfc3d3b2c9ee3f84bfc3d3b2c9eebf775176d7a072d13f44976adb2772ee3fb71404faceb3d33fb71404faceb3d3bf44976adb2772ee3f5bdbe9e81620dd\
3ff33c23528e7eec3ff33c23528e7eecbf5bdbe9e81620dd3fcc58e91ac55be83f0400ec45a1c0e43f0400ec45a1c0e4bfcc58e91ac55be83f962027791166b43f40392eaff3e5ef3f40392eaff3e5ef\
bf962027791166b43fc473b6ec58edef3fb309d7340144b13fb309d7340144b1bfc473b6ec58edef3f9ba0599fc00ce53fcc7ab5331b1ae83fcc7ab5331b1ae8bf9ba0599fc00ce53f00b9a069c1abec\
3f0b0097497f6cdc3f0b0097497f6cdcbf00b9a069c1abec3f541057a5b872d43ffc9f72049f52ee3ffc9f72049f52eebf541057a5b872d43fbc9d5ae282e4ee3f90dbdbcfd9b0d03f90dbdbcfd9b0d0\
bfbc9d5ae282e4ee3f1012e74bf6e2df3fea8093c4d7beeb3fea8093c4d7beebbf1012e74bf6e2df3fd76d8ee4ef58e93f22ebdf854188e33f22ebdf854188e3bfd76d8ee4ef58e93f1d83ba47a072c0\
3f8641e41716bcef3f8641e41716bcefbf1d83ba47a072c03fdb41aeffd58fef3ff2c59785df1bc53ff2c59785df1bc5bfdb41aeffd58fef3fa89c62270796e23f37f9baea950cea3f37f9baea950cea\
bfa89c62270796e23fb4130047cd23eb3f7e8e2abb26f4e03f7e8e2abb26f4e0bfb4130047cd23eb3f86b212b38ccfcc3f9d9a08c9c92def3f9d9a08c9c92defbf86b212b38ccfcc3fda47def705eded\
3f177ec77d9daad63f177ec77d9daad6bfda47def705eded3fe5a1de27414bda3f9fefe020b22ced3f9fefe020b22cedbfe5a1de27414bda3f8dd2a88d944fe73f7470839534ece53f7470839534ece5\
bf8dd2a88d944fe73f01cfd13137699f3ff8d3f11d25fcef3ff8d3f11d25fcefbf01cfd13137699f3fdf81dbda71f8ef3f43cd90d200fca53f43cd90d200fca5bfdf81dbda71f8ef3f50725d2a8da2e5\
3fe5554f570094e73fe5554f570094e7bf50725d2a8da2e53f92bdb2fed402ed3f09407f6c0d02db3f09407f6c0d02dbbf92bdb2fed402ed3f93a69e3727eed53fac8029ca0c10ee3fac8029ca0c10ee\
bf93a69e3727eed53f5d20f7538f16ef3f1b1a101eca56ce3f1b1a101eca56cebf5d20f7538f16ef3fe1c51774909ee03f051492fe8958eb3f051492fe8958ebbfe1c51774909ee03fd580eaf5b1d1e9\
3f17eae8e380e7e23f17eae8e380e7e2bfd580eaf5b1d1e93f148dcdb0db8ec33fc8b2ad55ce9fef3fc8b2ad55ce9fefbf148dcdb0db8ec33fbbcf468e8eaeef3fcf7becd41601c23fcf7becd41601c2\
bfbbcf468e8eaeef3f578e0c0d4038e33f220dd82ecf95e93f220dd82ecf95e9bf578e0c0d4038e33fe90475d2388ceb3f1a22ae265648e03f1a22ae265648e0bfe90475d2388ceb3ff9eddf1adcdccf\
3fec950b0c22feee3fec950b0c22feeebff9eddf1adcdccf3f25ce70e8ea31ee3f243caf80d830d53f243caf80d830d5bf25ce70e8ea31ee3f01bd0423cfb7db3ff6328b89d9d7ec3ff6328b89d9d7ec\
bf01bd0423cfb7db3fb23dc36c83d7e73f375197381058e53f375197381058e5bfb23dc36c83d7e73fe3d7c0128d42ac3f5c578d0f83f3ef3f5c578d0f83f3efbfe3d7c0128d42ac3f56f4f19f53ddef\
3f215b5d6a5887b73f215b5d6a5887b7bf56f4f19f53ddef3f4773981bb573e43faad44d9a7e9ce83faad44d9a7e9ce8bf4773981bb573e43f07692b014250ec3f58cc81148fd2dd3f58cc81148fd2dd\
bf07692b014250ec3f8703ecda22f4d23ff2f71d368490ee3ff2f71d368490eebf8703ecda22f4d23f8ea8e7e8b2adee3f71bbc3abbb33d23f71bbc3abbb33d2bf8ea8e7e8b2adee3f1451f8eae083de\
3fb071a93fde20ec3fb071a93fde20ecbf1451f8eae083de3fcc98163345dce83fb16b8e17ff25e43fb16b8e17ff25e4bfcc98163345dce83f035c4924b7a7ba3f840b221479d3ef3f840b221479d3ef\
bf035c4924b7a7ba3fb7bbf57d3f6cef3fc6649ce86633c83fc6649ce86633c8bfb7bbf57d3f6cef3f1b86bc8bf0f0e13f9de69f52587fea3f9de69f52587feabf1b86bc8bf0f0e13fd4c0165932b7ea\
3fb8b9f2095a9de13fb8b9f2095a9de1bfd4c0165932b7ea3f6643dcf2cbbdc93f849e78b1a258ef3f849e78b1a258efbf6643dcf2cbbdc93f888966a983a3ed3fc4aa4eb0e320d83fc4aa4eb0e320d8\
bf888966a983a3ed3fb0a4c82ea5dad83ff9ecb8020b7ded3ff9ecb8020b7dedbfb0a4c82ea5dad83f7582c1730dc4e63f10af9184f77ce63f10af9184f77ce6bf7582c1730dc4e63f710067fef02179\
3f928a8e85d8ffef3f928a8e85d8ffefbf710067fef021793f021d6221f6ffef3fbaa4ccbef821693fbaa4ccbef82169bf021d6221f6ffef3f719ca1ead18ee63f9ce22fed5cb2e63f9ce22fed5cb2e6\
bf719ca1ead18ee63f4fa44584c486ed3f44edd5864bacd83f44edd5864bacd8bf4fa44584c486ed3f3f90f3aa6a4fd83f463d8bdd009aed3f463d8bdd009aedbf3f90f3aa6a4fd83f5d6843eda65def\
3ffa2ab6e9495bc93ffa2ab6e9495bc9bf5d6843eda65def3fbf73131750b2e13f8eb92c7a54a9ea3f8eb92c7a54a9eabfbf73131750b2e13fd25a546e678dea3f7248dc641bdce13f7248dc641bdce1\
bfd25a546e678dea3f0418c4271796c83fee3c88567567ef3fee3c88567567efbf0418c4271796c83f9e5ca72d0dd6ef3f5ca824ebb6dfb93f5ca824ebb6dfb9bf9e5ca72d0dd6ef3f80432a5b7f39e4\
3f554618756acce83f554618756acce8bf80432a5b7f39e43ff1e33149d12cec3f25d83c6da857de3f25d83c6da857debff1e33149d12cec3fba545599e663d23f0058e69383a6ee3f0058e69383a6ee\
bfba545599e663d23f306b0136ec97ee3f2045954e1ac4d23f2045954e1ac4d2bf306b0136ec97ee3fde41a966fffedd3f04c041318344ec3f04c041318344ecbfde41a966fffedd3f881dde1e87ace8\
3fa2322b695a60e43fa2322b695a60e4bf881dde1e87ace83fa130c112874fb83f8c531475fadaef3f8c531475fadaefbfa130c112874fb83fd3beb154dcf4ef3f17835fbd01b1aa3f17835fbd01b1aa\
bfd3beb154dcf4ef3f9f649751c36ae53f33d3e29cb8c6e73f33d3e29cb8c6e7bf9f649751c36ae53f60a09927b3e2ec3f9356fd14788adb3f9356fd14788adbbf60a09927b3e2ec3fb467f4124060d5\
3f7a1939448f29ee3f7a1939448f29eebfb467f4124060d53f8c73cf145a04ef3f0238bd80747bcf3f0238bd80747bcfbf8c73cf145a04ef3fb7b831ecf35de03fe992e786667feb3fe992e786667feb\
bfb7b831ecf35de03fb2062ba4dfa4e93f1fa649ec2124e33f1fa649ec2124e3bfb2062ba4dfa4e93f0934fd4d9964c23fdcfd0ccbfbaaef3fdcfd0ccbfbaaefbf0934fd4d9964c23f91177aac9ba3ef\
3fa71645f97b2bc33fa71645f97b2bc3bf91177aac9ba3ef3f1510444bc2fbe23fc275f010d1c2e93fc275f010d1c2e9bf1510444bc2fbe23f47bcfd148f65eb3f8cb032201189e03f8cb032201189e0\
bf47bcfd148f65eb3f48e32d466bb8ce3f5f8f89bc9010ef3f5f8f89bc9010efbf48e32d466bb8ce3fd966dc2fa018ee3fb6b39d8be7bed53fb6b39d8be7bed5bfd966dc2fa018ee3f7219b31d972fdb\
3f7b46cee830f8ec3f7b46cee830f8ecbf7219b31d972fdb3fd297bf07f7a4e73fdf23f7d50190e53fdf23f7d50190e5bfd297bf07f7a4e73f864687a5ba8da73f64911bbb53f7ef3f64911bbb53f7ef\
bf864687a5ba8da73f79a6e29ce0fcef3f1d3be54c4f459c3f1d3be54c4f459cbf79a6e29ce0fcef3f106ae5bd7cfee53f4299078e553ee73f4299078e553ee7bf106ae5bd7cfee53fdcfbcb7bfc36ed\
3fc00ab543651dda3fc00ab543651ddabfdcfbcb7bfc36ed3fb60c8a6398d9d63f818d6d0f16e4ed3f818d6d0f16e4edbfb60c8a6398d9d63ff0ae3a5a6833ef3fdd745d53906dcc3fdd745d53906dcc\
bff0ae3a5a6833ef3f57a9d0487209e13ff5a24c2a7416eb3ff5a24c2a7416ebbf57a9d0487209e13f5ea7c0d2261bea3fba3c4def8b81e23fba3c4def8b81e2bf5ea7c0d2261bea3fdecb5486007fc5\
3f784bcb37a78bef3f784bcb37a78befbfdecb5486007fc53f888d0a0f47bfef3f5bb86fade80ec03f5bb86fade80ec0bf888d0a0f47bfef3f2930d6e3239ce33f6c4aace39049e93f6c4aace39049e9\
bf2930d6e3239ce33f27230dcb54cbeb3fded2245c57b7df3fded2245c57b7dfbf27230dcb54cbeb3fce49174e5be1d03f5186076aebddee3f5186076aebddeebfce49174e5be1d03fd36704559d5aee\
3ff03689dc1043d43ff03689dc1043d4bfd36704559d5aee3f895386c37f99dc3f49c4b9198fa0ec3f49c4b9198fa0ecbf895386c37f99dc3fff45f5139c2ae83f86a4cc25ccf9e43f86a4cc25ccf9e4\
bfff45f5139c2ae83f4d44ed74960cb23f0f4130259debef3f0f4130259debefbf4d44ed74960cb23f602d4885eae7ef3f99a2c5129f9db33f99a2c5129f9db3bf602d4885eae7ef3f7f9f586dbcd3e4\
3ffa83af11714be83ffa83af11714be8bf7f9f586dbcd3e43f139c0287f589ec3f21cde1ae4bf3dc3f21cde1ae4bf3dcbf139c0287f589ec3f71c26ee99be3d33fa7535dc5616aee3fa7535dc5616aee\
bf71c26ee99be3d33f0990995e83d0ee3f7893c6ef3e42d13f7893c6ef3e42d1bf0990995e83d0ee3fa3cd56e6de5fdf3fc15411611be4eb3fc15411611be4ebbfa3cd56e6de5fdf3f15a8c51fa42ae9\
3f18c58149c4c3e33f18c58149c4c3e3bf15a8c51fa42ae93f3faae4fdb78ebe3ff69a7d3b6ec5ef3ff69a7d3b6ec5efbf3faae4fdb78ebe3f0cc6404a0f83ef3f0d831d831a45c63f0d831d831a45c6\
bf0cc6404a0f83ef3f1071bb4c7358e23fc63b594a1838ea3fc63b594a1838eabf1071bb4c7358e23fb6579fd88ffbea3f4f25eecfe933e13f4f25eecfe933e1bfb6579fd88ffbea3fad5df13463a9cb\
3f65bc1bbc6b3eef3f65bc1bbc6b3eefbfad5df13463a9cb3f5a918af3fed1ed3f921026c96337d73f921026c96337d7bf5a918af3fed1ed3ff2f90d447dc1d93f2475181b5b4bed3f2475181b5b4bed\
bff2f90d447dc1d93fbf410e96ac1be73fff22ec4fe422e63fff22ec4fe422e6bfbf410e96ac1be73f26b2fa214dfd953f77cb70681cfeef3f77cb70681cfeefbf26b2fa214dfd953fd13bc54309ffef\
3fcb97b96a296a8f3fcb97b96a296a8fbfd13bc54309ffef3f5b537f431547e63f755bc999caf8e63f755bc999caf8e6bf5b537f431547e63f7f8a8872715fed3f8f94abb75565d93f8f94abb75565d9\
bf7f8a8872715fed3faedf13e6f594d73f9a7595439ebfed3f9a7595439ebfedbfaedf13e6f594d73fb4abbc062249ef3fabb9f3d5f1e4ca3fabb9f3d5f1e4cabfb4abbc062249ef3fbce2dbe4365ee1\
3fefec45f368e0ea3fefec45f368e0eabfbce2dbe4365ee13f23f59010c954ea3fe2132c662d2fe23fe2132c662d2fe2bf23f59010c954ea3fffc4088dfd0ac73f2a321a9c297aef3f2a321a9c297aef\
bfffc4088dfd0ac73f5443910347cbef3fc17d303b53ffbc3fc17d303b53ffbcbf5443910347cbef3f8006beea33ebe33ffe5e5743790be93ffe5e5743790be9bf8006beea33ebe33f47b1a1259dfceb\
3ffef7bf061908df3ffef7bf061908dfbf47b1a1259dfceb3f43f2e8fbf7a2d13fb2f61a4bcfc2ee3fb2f61a4bcfc2eebf43f2e8fbf7a2d13f5a16a529db79ee3fabb653e3f583d33fabb653e3f583d3\
bf5a16a529db79ee3f9d60a82bd04cdd3fd7aa9e891573ec3fd7aa9e891573ecbf9d60a82bd04cdd3f95a19a1d0a6ce83ff122675179ade43ff122675179ade4bf95a19a1d0a6ce83f0a4d4d4a772eb5\
3f86d8e92be9e3ef3f86d8e92be9e3efbf0a4d4d4a772eb53f9161820201efef3f6430464e617bb03f6430464e617bb0bf9161820201efef3fa69ad91ca81fe53ffa526e758b09e83ffa526e758b09e8\
bfa69ad91ca81fe53f99da000ae2b6ec3f293126476d3fdc3f293126476d3fdcbf99da000ae2b6ec3ff3821bd153a2d43f5ece81ff8d4aee3f5ece81ff8d4aeebff3821bd153a2d43f44a5504c07ebee\
3f1e66eb054e80d03f1e66eb054e80d0bf44a5504c07ebee3fe1822bc84007e03f0dc4b6a049b2eb3f0dc4b6a049b2ebbfe1822bc84007e03fe17fbd423f68e93f8d7f811b5374e33f8d7f811b5374e3\
bfe17fbd423f68e93f8667b2bc4dd6c03fb7ad668dd1b8ef3fb7ad668dd1b8efbf8667b2bc4dd6c03f08ac854ff193ef3f88fa797fb1b8c43f88fa797fb1b8c4bf08ac854ff193ef3f58eb7ae876aae2\
3fde4931f1f4fde93fde4931f1f4fde9bf58eb7ae876aae23ff37bf3a51531eb3fb6c44bb8d0dee03fb6c44bb8d0dee0bff37bf3a51531eb3feebd2c4d7731cd3fce0946fc1728ef3fce0946fc1728ef\
bfeebd2c4d7731cd3f9ca59b6ae3f5ed3fcb63ad9c947bd63fcb63ad9c947bd6bf9ca59b6ae3f5ed3f1bf3dbd30c79da3fe1a4e5c65522ed3fe1a4e5c65522edbf1bf3dbd30c79da3f6447302cc560e7\
3f5c343ee7ded9e53f5c343ee7ded9e5bf6447302cc560e73f7fc142db8546a13faefd25e455fbef3faefd25e455fbefbf7fc142db8546a13f14c008427cf9ef3f7961f86f396aa43f7961f86f396aa4\
bf14c008427cf9ef3f48744f260bb5e53f5bb3901bfb82e73f5bb3901bfb82e7bf48744f260bb5e53fb9d2592f670ded3f09dc5c1273d4da3f09dc5c1273d4dabfb9d2592f670ded3f02c2885c591dd6\
3f540f28d96607ee3f540f28d96607eebf02c2885c591dd63f084728be7a1cef3f9a09013f16f5cd3f9a09013f16f5cdbf084728be7a1cef3fec858f8705b4e03f2579de09744beb3f2579de09744beb\
bfec858f8705b4e03f7224b4ed82e0e93fb89b4ed333d3e23fb89b4ed333d3e2bf7224b4ed82e0e93f9348db572ff2c33f29defb7ced9bef3f29defb7ced9befbf9348db572ff2c33f4dd581c60db2ef\
3fe724be40899dc13fe724be40899dc1bf4dd581c60db2ef3fe14dc152524ce33f947545f1ae86e93f947545f1ae86e9bfe14dc152524ce33f5e15d91ffa98eb3f96bded55ae32e03f96bded55ae32e0\
bf5e15d91ffa98eb3fd2fdb906181fd03fc0a31ce5d6f7ee3fc0a31ce5d6f7eebfd2fdb906181fd03f85ce75ec333aee3f487019dc6301d53f487019dc6301d5bf85ce75ec333aee3fd9c0ff1715e5db\
3fa0dec220eeccec3fa0dec220eeccecbfd9c0ff1715e5db3f8636b0873fe8e73ffc9d15f54f45e53ffc9d15f54f45e5bf8636b0873fe8e73fc98e80f906d4ad3fed31e11416f2ef3fed31e11416f2ef\
bfc98e80f906d4ad3f0733f72299dfef3f29b1793e1bbfb63f29b1793e1bbfb6bf0733f72299dfef3fff9160300387e43fa11b48e7668ce83fa11b48e7668ce8bfff9160300387e43f5af8fe59ef5bec\
3fd910fa5c0ca6dd3fd910fa5c0ca6ddbf5af8fe59ef5bec3fafba38b61f24d33f2560ad5b0989ee3f2560ad5b0989eebfafba38b61f24d33f11885b51cfb4ee3fbe27d7838503d23fbe27d7838503d2\
bf11885b51cfb4ee3f2056f29506b0de3f575e46dcd914ec3f575e46dcd914ecbf2056f29506b0de3f496c489b10ece83f8c103d667212e43f8c103d667212e4bf496c489b10ece83f4cf638eca66fbb\
3f8760d858d1d0ef3f8760d858d1d0efbf4cf638eca66fbb3fb77e4b43f670ef3f1ccbd2bba7d0c73f1ccbd2bba7d0c7bfb77e4b43f670ef3fd66075a1ba05e23ff5609dde3871ea3ff5609dde3871ea\
bfd66075a1ba05e23fc8fa3ebdffc4ea3fe5463a1f5988e13fe5463a1f5988e1bfc8fa3ebdffc4ea3fda31181b3e20ca3f072daf1f8b53ef3f072daf1f8b53efbfda31181b3e20ca3fb98ae62cf4aced\
3fe44173d34df2d73fe44173d34df2d7bfb98ae62cf4aced3fd17bef81ef08d93fff0d8c503f73ed3fff0d8c503f73edbfd17bef81ef08d93fcdaf4aefafd5e63f86b3523f0f6be63f86b3523f0f6be6\
bfcdaf4aefafd5e63f0397500e6bd9823f4f8c972ca7ffef3f4f8c972ca7ffefbf0397500e6bd9823f4f8c972ca7ffef3f0397500e6bd9823f0397500e6bd982bf4f8c972ca7ffef3f86b3523f0f6be6\
3fcdaf4aefafd5e63fcdaf4aefafd5e6bf86b3523f0f6be63fff0d8c503f73ed3fd17bef81ef08d93fd17bef81ef08d9bfff0d8c503f73ed3fe44173d34df2d73fb98ae62cf4aced3fb98ae62cf4aced\
bfe44173d34df2d73f072daf1f8b53ef3fda31181b3e20ca3fda31181b3e20cabf072daf1f8b53ef3fe5463a1f5988e13fc8fa3ebdffc4ea3fc8fa3ebdffc4eabfe5463a1f5988e13ff5609dde3871ea\
3fd66075a1ba05e23fd66075a1ba05e2bff5609dde3871ea3f1ccbd2bba7d0c73fb77e4b43f670ef3fb77e4b43f670efbf1ccbd2bba7d0c73f8760d858d1d0ef3f4cf638eca66fbb3f4cf638eca66fbb\
bf8760d858d1d0ef3f8c103d667212e43f496c489b10ece83f496c489b10ece8bf8c103d667212e43f575e46dcd914ec3f2056f29506b0de3f2056f29506b0debf575e46dcd914ec3fbe27d7838503d2\
3f11885b51cfb4ee3f11885b51cfb4eebfbe27d7838503d23f2560ad5b0989ee3fafba38b61f24d33fafba38b61f24d3bf2560ad5b0989ee3fd910fa5c0ca6dd3f5af8fe59ef5bec3f5af8fe59ef5bec\
bfd910fa5c0ca6dd3fa11b48e7668ce83fff9160300387e43fff9160300387e4bfa11b48e7668ce83f29b1793e1bbfb63f0733f72299dfef3f0733f72299dfefbf29b1793e1bbfb63fed31e11416f2ef\
3fc98e80f906d4ad3fc98e80f906d4adbfed31e11416f2ef3ffc9d15f54f45e53f8636b0873fe8e73f8636b0873fe8e7bffc9d15f54f45e53fa0dec220eeccec3fd9c0ff1715e5db3fd9c0ff1715e5db\
bfa0dec220eeccec3f487019dc6301d53f85ce75ec333aee3f85ce75ec333aeebf487019dc6301d53fc0a31ce5d6f7ee3fd2fdb906181fd03fd2fdb906181fd0bfc0a31ce5d6f7ee3f96bded55ae32e0\
3f5e15d91ffa98eb3f5e15d91ffa98ebbf96bded55ae32e03f947545f1ae86e93fe14dc152524ce33fe14dc152524ce3bf947545f1ae86e93fe724be40899dc13f4dd581c60db2ef3f4dd581c60db2ef\
bfe724be40899dc13f29defb7ced9bef3f9348db572ff2c33f9348db572ff2c3bf29defb7ced9bef3fb89b4ed333d3e23f7224b4ed82e0e93f7224b4ed82e0e9bfb89b4ed333d3e23f2579de09744beb\
3fec858f8705b4e03fec858f8705b4e0bf2579de09744beb3f9a09013f16f5cd3f084728be7a1cef3f084728be7a1cefbf9a09013f16f5cd3f540f28d96607ee3f02c2885c591dd63f02c2885c591dd6\
bf540f28d96607ee3f09dc5c1273d4da3fb9d2592f670ded3fb9d2592f670dedbf09dc5c1273d4da3f5bb3901bfb82e73f48744f260bb5e53f48744f260bb5e5bf5bb3901bfb82e73f7961f86f396aa4\
3f14c008427cf9ef3f14c008427cf9efbf7961f86f396aa43faefd25e455fbef3f7fc142db8546a13f7fc142db8546a1bfaefd25e455fbef3f5c343ee7ded9e53f6447302cc560e73f6447302cc560e7\
bf5c343ee7ded9e53fe1a4e5c65522ed3f1bf3dbd30c79da3f1bf3dbd30c79dabfe1a4e5c65522ed3fcb63ad9c947bd63f9ca59b6ae3f5ed3f9ca59b6ae3f5edbfcb63ad9c947bd63fce0946fc1728ef\
3feebd2c4d7731cd3feebd2c4d7731cdbfce0946fc1728ef3fb6c44bb8d0dee03ff37bf3a51531eb3ff37bf3a51531ebbfb6c44bb8d0dee03fde4931f1f4fde93f58eb7ae876aae23f58eb7ae876aae2\
bfde4931f1f4fde93f88fa797fb1b8c43f08ac854ff193ef3f08ac854ff193efbf88fa797fb1b8c43fb7ad668dd1b8ef3f8667b2bc4dd6c03f8667b2bc4dd6c0bfb7ad668dd1b8ef3f8d7f811b5374e3\
3fe17fbd423f68e93fe17fbd423f68e9bf8d7f811b5374e33f0dc4b6a049b2eb3fe1822bc84007e03fe1822bc84007e0bf0dc4b6a049b2eb3f1e66eb054e80d03f44a5504c07ebee3f44a5504c07ebee\
bf1e66eb054e80d03f5ece81ff8d4aee3ff3821bd153a2d43ff3821bd153a2d4bf5ece81ff8d4aee3f293126476d3fdc3f99da000ae2b6ec3f99da000ae2b6ecbf293126476d3fdc3ffa526e758b09e8\
3fa69ad91ca81fe53fa69ad91ca81fe5bffa526e758b09e83f6430464e617bb03f9161820201efef3f9161820201efefbf6430464e617bb03f86d8e92be9e3ef3f0a4d4d4a772eb53f0a4d4d4a772eb5\
bf86d8e92be9e3ef3ff122675179ade43f95a19a1d0a6ce83f95a19a1d0a6ce8bff122675179ade43fd7aa9e891573ec3f9d60a82bd04cdd3f9d60a82bd04cddbfd7aa9e891573ec3fabb653e3f583d3\
3f5a16a529db79ee3f5a16a529db79eebfabb653e3f583d33fb2f61a4bcfc2ee3f43f2e8fbf7a2d13f43f2e8fbf7a2d1bfb2f61a4bcfc2ee3ffef7bf061908df3f47b1a1259dfceb3f47b1a1259dfceb\
bffef7bf061908df3ffe5e5743790be93f8006beea33ebe33f8006beea33ebe3bffe5e5743790be93fc17d303b53ffbc3f5443910347cbef3f5443910347cbefbfc17d303b53ffbc3f2a321a9c297aef\
3fffc4088dfd0ac73fffc4088dfd0ac7bf2a321a9c297aef3fe2132c662d2fe23f23f59010c954ea3f23f59010c954eabfe2132c662d2fe23fefec45f368e0ea3fbce2dbe4365ee13fbce2dbe4365ee1\
bfefec45f368e0ea3fabb9f3d5f1e4ca3fb4abbc062249ef3fb4abbc062249efbfabb9f3d5f1e4ca3f9a7595439ebfed3faedf13e6f594d73faedf13e6f594d7bf9a7595439ebfed3f8f94abb75565d9\
3f7f8a8872715fed3f7f8a8872715fedbf8f94abb75565d93f755bc999caf8e63f5b537f431547e63f5b537f431547e6bf755bc999caf8e63fcb97b96a296a8f3fd13bc54309ffef3fd13bc54309ffef\
bfcb97b96a296a8f3f77cb70681cfeef3f26b2fa214dfd953f26b2fa214dfd95bf77cb70681cfeef3fff22ec4fe422e63fbf410e96ac1be73fbf410e96ac1be7bfff22ec4fe422e63f2475181b5b4bed\
3ff2f90d447dc1d93ff2f90d447dc1d9bf2475181b5b4bed3f921026c96337d73f5a918af3fed1ed3f5a918af3fed1edbf921026c96337d73f65bc1bbc6b3eef3fad5df13463a9cb3fad5df13463a9cb\
bf65bc1bbc6b3eef3f4f25eecfe933e13fb6579fd88ffbea3fb6579fd88ffbeabf4f25eecfe933e13fc63b594a1838ea3f1071bb4c7358e23f1071bb4c7358e2bfc63b594a1838ea3f0d831d831a45c6\
3f0cc6404a0f83ef3f0cc6404a0f83efbf0d831d831a45c63ff69a7d3b6ec5ef3f3faae4fdb78ebe3f3faae4fdb78ebebff69a7d3b6ec5ef3f18c58149c4c3e33f15a8c51fa42ae93f15a8c51fa42ae9\
bf18c58149c4c3e33fc15411611be4eb3fa3cd56e6de5fdf3fa3cd56e6de5fdfbfc15411611be4eb3f7893c6ef3e42d13f0990995e83d0ee3f0990995e83d0eebf7893c6ef3e42d13fa7535dc5616aee\
3f71c26ee99be3d33f71c26ee99be3d3bfa7535dc5616aee3f21cde1ae4bf3dc3f139c0287f589ec3f139c0287f589ecbf21cde1ae4bf3dc3ffa83af11714be83f7f9f586dbcd3e43f7f9f586dbcd3e4\
bffa83af11714be83f99a2c5129f9db33f602d4885eae7ef3f602d4885eae7efbf99a2c5129f9db33f0f4130259debef3f4d44ed74960cb23f4d44ed74960cb2bf0f4130259debef3f86a4cc25ccf9e4\
3fff45f5139c2ae83fff45f5139c2ae8bf86a4cc25ccf9e43f49c4b9198fa0ec3f895386c37f99dc3f895386c37f99dcbf49c4b9198fa0ec3ff03689dc1043d43fd36704559d5aee3fd36704559d5aee\
bff03689dc1043d43f5186076aebddee3fce49174e5be1d03fce49174e5be1d0bf5186076aebddee3fded2245c57b7df3f27230dcb54cbeb3f27230dcb54cbebbfded2245c57b7df3f6c4aace39049e9\
3f2930d6e3239ce33f2930d6e3239ce3bf6c4aace39049e93f5bb86fade80ec03f888d0a0f47bfef3f888d0a0f47bfefbf5bb86fade80ec03f784bcb37a78bef3fdecb5486007fc53fdecb5486007fc5\
bf784bcb37a78bef3fba3c4def8b81e23f5ea7c0d2261bea3f5ea7c0d2261beabfba3c4def8b81e23ff5a24c2a7416eb3f57a9d0487209e13f57a9d0487209e1bff5a24c2a7416eb3fdd745d53906dcc\
3ff0ae3a5a6833ef3ff0ae3a5a6833efbfdd745d53906dcc3f818d6d0f16e4ed3fb60c8a6398d9d63fb60c8a6398d9d6bf818d6d0f16e4ed3fc00ab543651dda3fdcfbcb7bfc36ed3fdcfbcb7bfc36ed\
bfc00ab543651dda3f4299078e553ee73f106ae5bd7cfee53f106ae5bd7cfee5bf4299078e553ee73f1d3be54c4f459c3f79a6e29ce0fcef3f79a6e29ce0fcefbf1d3be54c4f459c3f64911bbb53f7ef\
3f864687a5ba8da73f864687a5ba8da7bf64911bbb53f7ef3fdf23f7d50190e53fd297bf07f7a4e73fd297bf07f7a4e7bfdf23f7d50190e53f7b46cee830f8ec3f7219b31d972fdb3f7219b31d972fdb\
bf7b46cee830f8ec3fb6b39d8be7bed53fd966dc2fa018ee3fd966dc2fa018eebfb6b39d8be7bed53f5f8f89bc9010ef3f48e32d466bb8ce3f48e32d466bb8cebf5f8f89bc9010ef3f8cb032201189e0\
3f47bcfd148f65eb3f47bcfd148f65ebbf8cb032201189e03fc275f010d1c2e93f1510444bc2fbe23f1510444bc2fbe2bfc275f010d1c2e93fa71645f97b2bc33f91177aac9ba3ef3f91177aac9ba3ef\
bfa71645f97b2bc33fdcfd0ccbfbaaef3f0934fd4d9964c23f0934fd4d9964c2bfdcfd0ccbfbaaef3f1fa649ec2124e33fb2062ba4dfa4e93fb2062ba4dfa4e9bf1fa649ec2124e33fe992e786667feb\
3fb7b831ecf35de03fb7b831ecf35de0bfe992e786667feb3f0238bd80747bcf3f8c73cf145a04ef3f8c73cf145a04efbf0238bd80747bcf3f7a1939448f29ee3fb467f4124060d53fb467f4124060d5\
bf7a1939448f29ee3f9356fd14788adb3f60a09927b3e2ec3f60a09927b3e2ecbf9356fd14788adb3f33d3e29cb8c6e73f9f649751c36ae53f9f649751c36ae5bf33d3e29cb8c6e73f17835fbd01b1aa\
3fd3beb154dcf4ef3fd3beb154dcf4efbf17835fbd01b1aa3f8c531475fadaef3fa130c112874fb83fa130c112874fb8bf8c531475fadaef3fa2322b695a60e43f881dde1e87ace83f881dde1e87ace8\
bfa2322b695a60e43f04c041318344ec3fde41a966fffedd3fde41a966fffeddbf04c041318344ec3f2045954e1ac4d23f306b0136ec97ee3f306b0136ec97eebf2045954e1ac4d23f0058e69383a6ee\
3fba545599e663d23fba545599e663d2bf0058e69383a6ee3f25d83c6da857de3ff1e33149d12cec3ff1e33149d12cecbf25d83c6da857de3f554618756acce83f80432a5b7f39e43f80432a5b7f39e4\
bf554618756acce83f5ca824ebb6dfb93f9e5ca72d0dd6ef3f9e5ca72d0dd6efbf5ca824ebb6dfb93fee3c88567567ef3f0418c4271796c83f0418c4271796c8bfee3c88567567ef3f7248dc641bdce1\
3fd25a546e678dea3fd25a546e678deabf7248dc641bdce13f8eb92c7a54a9ea3fbf73131750b2e13fbf73131750b2e1bf8eb92c7a54a9ea3ffa2ab6e9495bc93f5d6843eda65def3f5d6843eda65def\
bffa2ab6e9495bc93f463d8bdd009aed3f3f90f3aa6a4fd83f3f90f3aa6a4fd8bf463d8bdd009aed3f44edd5864bacd83f4fa44584c486ed3f4fa44584c486edbf44edd5864bacd83f9ce22fed5cb2e6\
3f719ca1ead18ee63f719ca1ead18ee6bf9ce22fed5cb2e63fbaa4ccbef821693f021d6221f6ffef3f021d6221f6ffefbfbaa4ccbef821693f")),t=gs(ir(Float64Array.from(e)));if(pt(ke(t))!==
"f45a496cf56ccc6e3e3395a20209206d81d71a7905a661447bd5bc0e24e0af1e")throw new Error("COMPLEX_ROOTS mismatch");return e})(),on={mul(e,t){let n=Math.imul(e,t),r=Math.
imul(Ve,Math.imul(n,Os)&65535);return n=(n+r>>>16)-Ve,n+=Ve&n>>31,n>>>0},inv(e){if(e===0)throw new Error("divison by zero");let t=this.mul(e,Gf),n=this.mul(t,t),
r=this.mul(n,t),f=this.mul(r,n),o=this.mul(f,f),c=this.mul(o,o),s=this.mul(c,c),i=this.mul(s,s),y=this.mul(i,i),E=this.mul(y,r),g=this.mul(E,y),A=this.mul(g,g),
T=this.mul(A,A),_=this.mul(T,E),U=this.mul(_,_),N=this.mul(U,U),j=this.mul(N,g),J=this.mul(j,j);return this.mul(J,t)},div:(e,t)=>on.mul(e,on.inv(t))};function Fs(e){
let t=1<<e,n=g=>new Uint16Array(g),r=Number(sr(BigInt(t),pr)),{mod:f,smod:o,NTT:c}=vn({N:t,Q:Ve,F:r,ROOT_OF_UNITY:7,newPoly:n,isKyber:!1,brvBits:10});return{newPoly:n,
intPoly:{create:n,smallSqnorm(g){let A=0,T=0;for(let _=0;_<t;_++){let U=g[_];A=A+U*U>>>0,T|=A}return(A|-(T>>>31))>>>0},isShort(g,A){let T=0,_=0;for(let U=0;U<t;U++){
let N=g[U]<<16>>16;T=T+(N*N>>>0)>>>0,_|=T;let j=A[U]<<16>>16;T=T+(j*j>>>0)>>>0,_|=T}return _&2147483648&&(T=4294967295),T<=Xf[e]},sub(g,A){for(let T=0;T<t;T++)g[T]=
f(g[T]-A[T]);return g},ntt:g=>c.encode(g),intt:g=>c.decode(g),toMontgomery(g){for(let A=0;A<t;A++)g[A]=on.mul(g[A],Gf);return g},mul(g,A){for(let T=0;T<t;T++)g[T]=
on.mul(g[T],A[T]);return g},div(g,A){for(let T=0;T<t;T++)g[T]=on.div(g[T],A[T]);return this.intt(g),g}},signedCoder:{encode:g=>Int16Array.from(g,A=>o(A)),decode:g=>Uint16Array.
from(g,A=>f(A))}}}var W=ys({ZERO:0,ONE:1,add:(e,t)=>e+t,sub:(e,t)=>e-t,mul:(e,t)=>e*t,div:(e,t)=>e/t,eql:(e,t)=>e===t,inv:e=>1/e,neg:e=>-e}),cn=ps.decode(Ns),Wf={},
Jf={};for(let e=0;e<10;e++){let t=new Array(1<<e),n=new Array(1<<e);for(let r=0,f=1,o=1;r<e;r++){let c=1<<r;for(let i=0;i<c;i++)t[f++]=cn[(c<<1)+i];let s=1<<e-r;
for(let i=0;i<s>>1;i++)n[t.length-o++]=W.neg(W.conj(cn[s+i]))}Wf[e]=t,Jf[e]=n}function Vf(e){let n=1<<e>>1,r=Math.log2(n),f={N:n,invertButterflies:!0,skipStages:0,
brp:!1},o=1/n;return{to:c=>ur.decode(Array.from(c)),from:c=>new Float64Array(ur.encode(c)),convSmall:c=>ur.decode(Array.from(c)),add:(c,s)=>c.map((i,y)=>W.add(i,
s[y])),sub:(c,s)=>c.map((i,y)=>W.sub(i,s[y])),neg:c=>c.map(s=>W.neg(s)),mul:(c,s)=>c.map((i,y)=>W.mul(i,s[y])),conj:c=>c.map(s=>W.conj(s)),mulConst:(c,s)=>c.map(
i=>W.scale(i,s)),scaleNorm:(c,s)=>c.map((i,y)=>W.scale(i,s[y])),invNorm:(c,s)=>new Float64Array(c.map((i,y)=>1/W.magSqSum(i,s[y]))),FFT:c=>Pt(W,{...f,dit:!1,roots:Wf[r]})(
c),iFFT(c){Pt(W,{...f,dit:!0,roots:Jf[r]})(c);for(let s=0;s<c.length;s++)c[s]=W.scale(c[s],o);return c}}}function Ms(e,t,n,r){t=t.slice(),n=n.slice(),r=r.slice();
let f=1<<e-1;for(let o=0;o<f;o++){let c=n[o],s=r[o],i=W.scale(c,1/t[o].re);r[o]={re:s.re-(i.re*c.re+i.im*c.im),im:s.im},n[o]=W.conj(i)}return{g00:t,g01:n,g11:r}}
function Cs(e,t){let n=[.9999999999999949,.5000000000000192,.16666666666698401,.04166666666611049,.008333333327800835,.001388888894063187,.0001984127392773119,2480156683358538e-20,
27555863502191225e-22,2756073561604778e-22,2529950637944207e-23,2073772366009083e-24],r=-e,f=n[n.length-1];for(let o=n.length-2;o>=0;o--)f=f*r+n[o];return t*(1+
f*r)}function Hs(e){let{N:t}=e,n=Math.log2(t),r=x=>x,{newPoly:f,intPoly:o,signedCoder:c}=Fs(n),s=Vf(n);class i{logn;shake;constructor(u,a){this.logn=u,this.shake=
ke.create().update(a)}gaussSingle(){let u=1<<10-this.logn,a=0;for(let d=0;d<u;d++){let b=Bf(this.shake.xof(16)),l=b&zf,h=b>>_s&zf,p=Number(b>>Ss&lr),w=l<yr[0]?1:
0,m=0;for(let S=1;S<yr.length;S++){let v=h>=yr[S]?1:0;m|=S&-(v&(w^1)),w|=v}a+=p===1?-m:m}return a}polyGauss(){let u=1<<this.logn,a=0,d=new Int8Array(u);for(let b=0;b<
u;b++){let l;for(;l=this.gaussSingle(),!(!(l<-127||l>127)&&!(b===u-1&&(a^l&1)===0)););b<u-1&&(a^=l&1),d[b]=l}return d}galoisNorm(u,a){let d=1<<u,b=new Array(d>>
1);for(let l=0;l<d;l+=2){let h=ct;for(let p=0;p<=l;p+=2)h+=a[p]*a[l-p];for(let p=l+2;p<d;p+=2)h-=a[p]*a[l+d-p];b[l>>>1]=h}for(let l=0;l<d;l+=2){let h=ct;for(let p=1;p<
l;p+=2)h+=a[p]*a[l-p];for(let p=l+1;p<d;p+=2)h-=a[p]*a[l+d-p];b[l>>>1]-=h}return b}mulConjD(u,a,d,b){let l=1<<u;for(let h=0;h<l;h++){let p=ct;for(let w=0;w<=h;w+=
2)p+=b[w>>>1]*d[h-w];for(let w=h+2-(h&1);w<l;w+=2)p-=b[w>>>1]*d[h+l-w];(h&1)===0?a[h]=p:a[h]=-p}return a}subMul(u,a,d,b,l){let h=1<<u;for(let p=0;p<h;p++){let w=ct;
for(let m=0;m<=p;m++)w+=d[m]*b[p-m];for(let m=p+1;m<h;m++)w-=d[m]*b[p+h-m];a[p]-=w<<l}return a}reduce(u,a,d,b,l,h){let p=1<<u,w=h-u,m=Vf(u),S=vs[w],v=Bs[w],O=BigInt(
31*v),R=BigInt(v),D=BigInt(31*(S-10)),F=Bn[w].avg+6*Bn[w].std,B=Bn[w].avg-6*Bn[w].std,Z=BigInt(Math.round(31*v-B)),$=new Float64Array(p),G=new Float64Array(p);for(let te=0;te<
p;te++)$[te]=Number(a[te]>>D),G[te]=Number(d[te]>>D);let Y=m.conj(m.FFT(m.to($))),fe=m.conj(m.FFT(m.to(G))),he=m.invNorm(Y,fe),de=new Float64Array(p),ie=new Float64Array(
p),Q=new Array(p);for(;;){let te=hr*(R-Kf);for(let Be=0;Be<p;Be++)de[Be]=Number(b[Be]>>te),ie[Be]=Number(l[Be]>>te);let ce=m.mul(m.FFT(m.to(ie)),fe),Le=m.mul(m.
FFT(m.to(de)),Y),ee=m.from(m.iFFT(m.scaleNorm(m.add(ce,Le),he))),ge=2**Number(te-D-Z);for(let Be=0;Be<p;Be++){let ht=ee[Be]*ge;if(ht<=-2147483647||ht>=2147483647)
return!1;Q[Be]=BigInt(Math.round(ht))}b=this.subMul(u,b,a,Q,Z),l=this.subMul(u,l,d,Q,Z);let Ue=Z+BigInt(Math.round(F))+Kf;if(Ue<O&&(O=Ue),R>lr&&R*hr>=O+hr&&R--,
Z<=ct)break;Z-=As,Z<ct&&(Z=ct)}return!0}solveBranch(u,a,d,b,l,h){if(u===0){let R=a[0],D=d[0];if(R<=ct||D<=ct)return!1;try{let F=sr(R,D),B=(lr-F*R)/D;return b[0]=
-B*pr,l[0]=F*pr,!0}catch{return!1}}h===void 0&&(h=u);let p=1<<u,w=p>>>1;if(!a||a.length<p||!d||d.length<p)return!1;let m=this.galoisNorm(u,a),S=this.galoisNorm(
u,d),v=new Array(w),O=new Array(w);return this.solveBranch(u-1,m,S,v,O,h)?(b=this.mulConjD(u,b,d,v),l=this.mulConjD(u,l,a,O),this.reduce(u,a,d,b,l,h)):!1}solve(u,a){
let d=1<<n,b=Array.from(u).map(BigInt),l=Array.from(a).map(BigInt),h=new Array(d),p=new Array(d);if(!this.solveBranch(n,b,l,h,p))return!1;let w=new Int8Array(d),
m=new Int8Array(d);for(let S=0;S<d;S++){let v=h[S],O=p[S];if(v<-127||v>127||O<-127||O>127)return!1;w[S]=Number(v),m[S]=Number(O)}return[w,m]}generate(){let u=1e6,
a=0;for(;;){if(a++===u)throw new Error("can't generate key");let d=this.polyGauss(),b=this.polyGauss(),l=1<<e.fgBits-1;for(let F=0;F<t;F++)if(d[F]>=l||d[F]<=-l||
b[F]>=l||b[F]<=-l){l=-1;break}if(l<0)continue;let h=o.smallSqnorm(d),p=o.smallSqnorm(b);if((h+p|-((h|p)>>>31))>=16823)continue;let m=s.FFT(s.convSmall(d)),S=s.FFT(
s.convSmall(b)),v=s.invNorm(m,S);m=s.iFFT(s.scaleNorm(s.mulConst(s.conj(m),Ve),v)),S=s.iFFT(s.scaleNorm(s.mulConst(s.conj(S),Ve),v));let O=0;for(let F=0;F<m.length;F++)
O+=m[F].re*m[F].re,O+=S[F].re*S[F].re;for(let F=0;F<m.length;F++)O+=m[F].im*m[F].im,O+=S[F].im*S[F].im;if(!(O<Us))continue;let R;try{R=H(d,b)}catch{continue}let D=this.
solve(d,b);if(D!==!1)return[d,b,D[0],D[1],R]}}}let y=()=>{let x=Df(f,t,14,{encode:r,decode:r});return{bytesLen:x.bytesLen,encode(u){for(let a=0;a<u.length;a++)if(u[a]>=
12289)throw new Error("public key coeff out of range");return x.encode(u)},decode(u){if(u.length!==x.bytesLen)throw new Error("wrong public key length");let a=x.
decode(u);for(let b=0;b<a.length;b++)if(a[b]>=12289)throw new Error("public key coeff out of range");let d=x.encode(a);if(d.length!==u.length)throw new Error("w\
rong public key length");for(let b=0;b<u.length;b++)if(u[b]!==d[b])throw new Error("wrong public key encoding");return a}}},E=x=>{let u=32-x,a=Df(d=>new Int8Array(
d),t,x,{encode:d=>d&(1<<x)-1,decode:d=>(d&Qe(x))<<u>>u});return{bytesLen:a.bytesLen,encode(d){let b=(1<<x-1)-1,l=-b;for(let h=0;h<d.length;h++)if(d[h]<l||d[h]>b)
throw new Error("private key coeff out of range");return a.encode(d)},decode(d){let b=a.decode(d),l=-(1<<x-1);for(let h=0;h<b.length;h++)if(b[h]===l)throw new Error(
"forbidden private key coeff");return b}}},g=E(e.fgBits),A=E(e.FGBits),T=zt(80+n,ve("falcon.secretKey",g,g,A)),_=zt(0+n,y()),U=x=>{let u=qt(t).encode(qt(t).decode(
x));for(let a=u.length;a<x.length;a++)if(x[a]!==0)throw new Error("non-zero padding");return u},N=x=>{if(qt(t).encode(qt(t).decode(x)).length!==x.length)throw new Error(
"wrong signature length");return x},j=e.padded?U:N,J=x=>{let u=32+x;return{encode({msg:a,nonce:d,s2:b}){let l=b,h=1+l.length,p=2+Re+a.length+h,w=new Uint8Array(
p),m=0;return w[m++]=h>>8&255,w[m++]=h&255,w.set(d,m),m+=Re,w.set(a,m),m+=a.length,w[m++]=u,w.set(l,m),w},decode(a){if(!a||a.length<Re+3)throw new Error("signat\
ure coder: wrong length");let b=(a[0]<<8|a[1])-1,l=a.length-Re-3-b;if(l<0)throw new Error("signature coder: wrong msg length");if(a[2+Re+l]!==u)throw new Error(
"signature coder: wrong type byte");let p=a.subarray(2,2+Re),w=a.subarray(2+Re,2+Re+l),m=N(a.subarray(2+Re+l+1));if(m.length!==b)throw new Error("signature code\
r: wrong s2 length");return{msg:w,nonce:p,s2:m}}}},I=x=>{let u=e.paddedLen;return{encode({msg:a,nonce:d,s2:b}){return zt(48+x,ve("falcon.signature",Re,u,a.length)).
encode([d,$f(u).encode(b),a])},decode(a){z(a,void 0,"signature");let d=a.length-Re-u-1;if(d<0)throw new Error("signature coder: wrong length");let[b,l,h]=zt(48+
x,ve("falcon.signature",Re,u,d)).decode(a);return{nonce:b,s2:j(l),msg:h}}}},M=x=>{let u=e.sigLen-1-Re,a=d=>e.padded?u:d.length;return{encode({nonce:d,s2:b}){return zt(
48+x,ve("falcon.detachedSignature",Re,a(b))).encode([d,e.padded?$f(u).encode(b):b])},decode(d){if(!e.padded&&d.length>1+Re+e.maxS2Len)throw new Error("detached \
signature too long");let b=e.padded?u:d.length-Re-1,[l,h]=zt(48+x,ve("falcon.detachedSignature",Re,b)).decode(d),p=j(h);return{nonce:l,s2:p}}}},C=(e.padded?I:J)(
n),P=x=>{let u=o.ntt(c.decode(x));for(let a=0;a<t;a++)if(u[a]===0)throw new Error("invalid secretKey: non-invertible f");return u};function H(x,u){let a=P(x),d=o.
ntt(c.decode(u)),b=o.div(d,a);return V(a),b}function K(x,u,a){let d=o.toMontgomery(o.ntt(c.decode(u))),b=o.ntt(c.decode(a)),l=P(x);d=o.div(o.mul(d,b),l);let h=new Int8Array(
t);for(let p=0;p<t;p++){let w=d[p];w-=Ve&~-(w-Es>>>31);let m=w|0;if(m<-127||m>127)throw V(d,b,l,h),new Error("Coefficient out of bounds");h[p]=m}return V(d,b,l),
h}function k(x,u){let a=ke.create().update(x).update(u),d=new Uint16Array(t),b=5*Ve;for(let l=0;l<t;){let h=a.xof(2),p=h[0]<<8|h[1];p<b&&(d[l++]=p%Ve)}return d}
class q{logn;shake;shakeBuf;ctrView;ctr=ct;buf;buf32;pos;key;nonce32;curBlock;curBlock32;view;b01;b11;g00;g01;g11;constructor(u,a,d,b,l,h){this.logn=u,this.shake=
ke.create().update(a),this.shakeBuf=new Uint8Array(56),this.key=this.shakeBuf.subarray(0,32),this.nonce32=Ot(this.shakeBuf.subarray(32,48)),this.ctrView=dt(this.
shakeBuf.subarray(48,56)),this.curBlock=new Uint8Array(64),this.curBlock32=Ot(this.curBlock),this.buf=new Uint8Array(8*this.curBlock.length),this.buf32=Ot(this.
buf),this.pos=this.buf.length,this.view=dt(this.buf),this.b01=b,this.b11=h;let{g00:p,g01:w,g11:m}=this.gramFFT(d,l);this.g00=p,this.g01=w,this.g11=m}destroy(){this.
shake.destroy(),V(this.shakeBuf,this.curBlock,this.buf),br(this.b01,this.b11,this.g00,this.g01,this.g11)}refill(u){if(this.buf.length-this.pos>=u)return;let a=nt(
this.buf32);for(let d=0;d<8;d++,this.ctr++){let b=nt(this.nonce32.slice());b[2]^=Number(this.ctr&Ls),b[3]^=Number(this.ctr>>Ts),nt(b.subarray(1)),Sf(this.key,tf(
b.subarray(1)),xs,this.curBlock,b[0]);let l=nt(this.curBlock32);for(let h=0;h<16;h++)a[d+h*8]=l[h];nt(l)}nt(a),this.pos=0}gaussian0(){this.refill(9);let u=this.
view.getUint32(this.pos,!0),a=this.view.getUint32(this.pos+4,!0),d=this.buf[this.pos+8];this.pos+=9;let b=u&16777215,l=u>>>24&255|(a&65535)<<8,h=a>>>16&65535|d<<
16,p=0;for(let w=0;w<Un.length;w+=3){let m=b-Un[w+2]>>>31;m=(l-Un[w+1]|0)-m>>>31,m=(h-Un[w+0]|0)-m>>>31,p+=m}return p}berExp(u,a){let d=Math.trunc(u*1.4426950408889634),
b=u-d*.6931471805599453,l=Cs(b,a);l*=2147483648;let h=l|0;l=(l-h)*4294967296;let p=l|0;h=h<<1|p>>>31,p<<=1,d=(d|63-d>>>26)&63;let w=-(d>>>5)|0;p^=w&(p^h),h&=~w,
d&=31,p=p>>>d|h<<31-d<<1,h>>>=d;for(let m=0;m<2;m++){for(let S=24;S>=0;S-=8){this.refill(1);let v=this.buf[this.pos++],O=h>>>S&255;if(v!==O)return v<O}h=p}return!1}samplerZ(u,a){
let d=Math.floor(u),b=u-d,l=a*a*.5,h=a*qf[this.logn];for(;;){let p=this.gaussian0();this.refill(1);let w=this.buf[this.pos++]&1,m=((p<<1)+1&-w)-p,S=m-b;if(S=S*S*
l-p*p*.15086504887537272,this.berExp(S,h))return d+m}}splitFFT(u,a){let d=1<<u-1,b=d>>1;if(u===1)return{f0:[{re:a[0].re,im:0}],f1:[{re:a[0].im,im:0}]};let l=new Array(
b),h=new Array(b),p=a;for(let w=0;w<b;w++){let m=p[(w<<1)+0],S=p[(w<<1)+1];l[w]=W.scale(W.add(m,S),.5),h[w]=W.scale(W.mul(W.sub(m,S),W.conj(cn[w+d])),.5)}return{
f0:l,f1:h}}splitSelfAdjFFT(u,a){let d=1<<u-1,b=d>>1;if(u===1)return{f0:[{re:a[0].re,im:0}],f1:[{re:0,im:0}]};let l=new Array(b),h=new Array(b),p=a;for(let w=0;w<
b;w++){let m=p[(w<<1)+0],S=p[(w<<1)+1];l[w]=W.scale(W.add(m,S),.5),h[w]=W.scale(W.scale(W.conj(cn[w+d]),W.sub(m,S).re),.5)}return{f0:l,f1:h}}mergeFFT(u,a,d){let b=1<<
u-1,l=b>>1;if(u===1)return[{re:a[0].re,im:d[0].re}];let h=new Array(2*l);for(let p=0;p<l;p++){let w=a[p],m=W.mul(d[p],cn[p+b]);h[(p<<1)+0]=W.add(w,m),h[(p<<1)+1]=
W.sub(w,m)}return h}gramFFT(u,a){let{b01:d,b11:b}=this,l=1<<this.logn>>1,h=new Array(l),p=new Array(l),w=new Array(l);for(let m=0;m<l;m++){let S=u[m],v=d[m],O=a[m],
R=b[m],D=W.mul(S,W.conj(O)),F=W.mul(v,W.conj(R));h[m]={re:W.magSqSum(S,v),im:0},p[m]=W.add(D,F),w[m]={re:W.magSqSum(O,R),im:0}}return{g00:h,g01:p,g11:w}}ffsampRec(u,a,d,b,l,h){
if(u===0){let Q=Math.sqrt(b[0].re)*Is[this.logn],te=1/Q;if(!(te>=qf[this.logn]&&te<=Rs))throw new Error("invalid secretKey: sampler sigma out of range");let ce=this.
samplerZ(a[0].re,Q),Le=this.samplerZ(d[0].re,Q);return{t0:[{re:ce,im:0}],t1:[{re:Le,im:0}]}}let{g00:p,g01:w,g11:m}=Ms(u,b,l,h),{f0:S,f1:v}=this.splitSelfAdjFFT(
u,p),{f0:O,f1:R}=this.splitSelfAdjFFT(u,m),{f0:D,f1:F}=this.splitFFT(u,d),{t0:B,t1:Z}=this.ffsampRec(u-1,D,F,O,R,O),$=this.mergeFFT(u,B,Z),G=s.add(a,s.mul(w,s.sub(
d,$))),{f0:Y,f1:fe}=this.splitFFT(u,G),{t0:he,t1:de}=this.ffsampRec(u-1,Y,fe,S,v,S);return{t0:this.mergeFFT(u,he,de),t1:$}}sample(u){let a=s.FFT(s.convSmall(u)),
d=s.mulConst(s.mul(a,this.b11),Yf),b=s.mulConst(s.mul(a,this.b01),ks);return this.shake.xofInto(this.shakeBuf),this.ctr=this.ctrView.getBigUint64(0,!0),this.ffsampRec(
this.logn,d,b,this.g00,this.g01,this.g11)}}let X=(x,u,a,d=kt)=>{z(u,void 0,"msg"),z(x,T.bytesLen,"secretKey");let b=d(40);z(b,40,"nonce");let l=k(b,u),h=d(48);z(
h,48,"seed");try{let[p,w,m]=T.decode(x);try{let S=K(p,w,m),v=s.FFT(s.convSmall(w)),O=s.FFT(s.neg(s.convSmall(p))),R=s.FFT(s.convSmall(S)),D=s.FFT(s.neg(s.convSmall(
m))),F=new q(n,h,v,O,R,D),B=new Int16Array(t);try{for(;;){let{t0:Z,t1:$}=F.sample(l),G=s.add(s.mul(Z,v),s.mul($,R)),Y=s.mul(Z,O),fe=s.iFFT(G),he=s.iFFT(s.add(s.
mul($,D),Y)),de=t>>1,ie=0;for(let te=0;te<de;te++){ie+=(l[te]-(Math.round(fe[te].re)|0))**2,ie+=(l[de+te]-(Math.round(fe[te].im)|0))**2;let ce=-Math.round(he[te].
re);ie+=ce*ce,B[te]=ce&65535;let Le=-Math.round(he[te].im);ie+=Le*Le,B[te+de]=Le&65535}if(br(Z,$,G,Y,fe,he),!(ie<=Xf[n]))continue;let Q=qt(t).encode(B);if(Q.length>
a){V(Q);continue}return{s2:Q,nonce:b,msg:u}}}finally{V(B),F.destroy(),br(v,O,R,D),V(S)}}finally{V(p,w,m)}}finally{V(h)}},re=(x,u,a,d)=>{let b=qt(t).decode(u),l=k(
a,d),h=o.toMontgomery(o.ntt(_.decode(x))),p=o.intt(o.mul(o.ntt(c.decode(b)),h));return o.sub(p,l),o.isShort(c.encode(p),b)},ue=Object.freeze({type:"falcon"}),me=Object.
freeze({seed:48,publicKey:_.bytesLen,secretKey:T.bytesLen}),pe=[...dr,"random"],le=(x={})=>{if(x=ft(x,pe),x.context!==void 0)throw new Error("context is not sup\
ported");if(x.random!==void 0&&typeof x.random!="function")throw new TypeError('"opts.random" expected function, got type='+typeof x.random);if(x.random!==void 0)
return x.random;if(x.extraEntropy===void 0)return kt;let u=x.extraEntropy===!1?new Uint8Array(48):x.extraEntropy;z(u,48,"opts.extraEntropy");let a=xf(u);return(d=0)=>a.
randomBytes(d)},we=(x={})=>{if(ut(x).context!==void 0)throw new Error("context is not supported")},_e=Object.freeze({publicKeyCoder:Object.freeze(_),privateKeyCoder:Object.
freeze(T),maxS2Len:e.maxS2Len}),xe=Object.freeze({...me,signRand:48}),Ee=e.padded?Object.freeze({...xe,signature:e.sigLen}):xe,Ae=x=>{let u=x===void 0;u&&(x=kt(
48)),z(x,48,"seed");let[a,d,b,l,h]=new i(n,x).generate(),p=T.encode([a,d,b]),w=_.encode(h);return u&&V(x),V(a,d,b,l),{publicKey:w,secretKey:p}},ae=x=>{z(x,T.bytesLen,
"secretKey");let[u,a,d]=T.decode(x);try{let b=H(u,a);return V(u,a,d),_.encode(b)}catch(b){throw V(u,a,d),b}},Pe=(x,u,a={})=>{let{s2:d,nonce:b}=X(u,x,e.maxS2Len,
le(a));return M(n).encode({nonce:b,s2:d})},st=(x,u,a,d={})=>{we(d),z(x,void 0,"signature"),z(u,void 0,"msg"),z(a,void 0,"publicKey");try{let{s2:b,nonce:l}=M(n).
decode(x);return re(a,b,l,u)}catch{return!1}},Ce=Object.freeze({info:ue,lengths:xe,keygen:Ae,getPublicKey:ae,seal(x,u,a={}){let{s2:d,nonce:b}=X(u,x,e.maxS2Len,le(
a));return C.encode({msg:x,nonce:b,s2:d})},open(x,u,a={}){we(a),z(x,void 0,"signature"),z(u,void 0,"publicKey");let d=Ke(x),b=Ke(u);try{let l;try{let{s2:h,nonce:p,
msg:w}=C.decode(d);re(b,h,p,w)&&(l=w)}catch(h){throw new Error("invalid signature",{cause:h})}if(l===void 0)throw new Error("invalid signature");return Ke(l)}finally{
V(d,b)}}}),L={info:ue,lengths:Ee,attached:Ce,keygen:Ae,getPublicKey:ae,sign:Pe,verify:st};return L.__test=_e,Object.freeze(L)}var js={N:512,padded:!1,sigLen:666,
fgBits:6,FGBits:8,paddedLen:625};var Zf=Hs({...js,padded:!0,maxS2Len:625});/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Qf=Object.freeze(["extraEntropy","externalMu"]),Ps=Object.freeze(["externalMu"]);
function eo(e,t){let n=kn(e,t);return n.externalMu!==void 0&&Lf(n.externalMu,"opts.externalMu"),n}var be=256,Et=8380417,Ds=1753,$s=8347681,It=13,gr=Math.floor((Et-
1)/88)|0,mr=Math.floor((Et-1)/32)|0,Ks=Object.freeze({2:Object.freeze({K:4,L:4,D:It,GAMMA1:2**17,GAMMA2:gr,TAU:39,ETA:2,OMEGA:80}),3:Object.freeze({K:6,L:5,D:It,
GAMMA1:2**19,GAMMA2:mr,TAU:49,ETA:4,OMEGA:55}),5:Object.freeze({K:8,L:7,D:It,GAMMA1:2**19,GAMMA2:mr,TAU:60,ETA:2,OMEGA:75})}),ze=e=>new Int32Array(e),oe=vn({N:be,
Q:Et,F:$s,ROOT_OF_UNITY:Ds,newPoly:ze,isKyber:!1,brvBits:8}),to=e=>e,sn=(e,t=to,n=to)=>oe.bitsCoder(e,{encode:r=>t(n(r)),decode:r=>n(t(r))}),wt=(e,t)=>{let n=e,
r=t;for(let f=0;f<n.length;f++)n[f]=oe.mod(n[f]+r[f]);return n},no=(e,t)=>{let n=e,r=t;for(let f=0;f<n.length;f++)n[f]=oe.mod(n[f]-r[f]);return n},zs=e=>{let t=e;
for(let n=0;n<be;n++)t[n]<<=It;return t},an=(e,t)=>{let n=e;for(let r=0;r<be;r++)if(Math.abs(oe.smod(n[r]))>=t)return!0;return!1},xt=(e,t)=>{let n=e,r=t,f=ze(be);
for(let o=0;o<n.length;o++)f[o]=oe.mod(n[o]*r[o]);return f};function In(e){let t=e,n=ze(be);for(let r=0;r<be;){let f=t();if(f.length%3)throw new Error("RejNTTPo\
ly: unaligned block");for(let o=0;r<be&&o<=f.length-3;o+=3){let c=(f[o+0]|f[o+1]<<8|f[o+2]<<16)&8388607;c<Et&&(n[r++]=c)}}return n}function qs(e){let t=e,{K:n,L:r,
GAMMA1:f,GAMMA2:o,TAU:c,ETA:s,OMEGA:i}=t,{CRH_BYTES:y,TR_BYTES:E,C_TILDE_BYTES:g,XOF128:A,XOF256:T,securityLevel:_}=t;if(![2,4].includes(s))throw new Error("Wro\
ng ETA");if(![1<<17,1<<19].includes(f))throw new Error("Wrong GAMMA1");if(![gr,mr].includes(o))throw new Error("Wrong GAMMA2");let U=c*s,N=L=>{let x=oe.mod(L),u=oe.
smod(x,2*o)|0;return x-u===Et-1?{r1:0,r0:u-1|0}:{r1:Math.floor((x-u)/(2*o))|0,r0:u}},j=L=>N(L).r1,J=L=>N(L).r0,I=(L,x)=>L<=o||L>Et-o||L===Et-o&&x===0?0:1,M=Math.
floor((Et-1)/(2*o)),C=(L,x)=>{let{r1:u,r0:a}=N(x);return L===1?a>0?oe.mod(u+1,M)|0:oe.mod(u-1,M)|0:u|0},P=L=>{let x=oe.mod(L),u=oe.smod(x,2**It)|0;return{r1:Math.
floor((x-u)/2**It)|0,r0:u}},H={bytesLen:i+n,encode:L=>{let x=L;if(x===!1)throw new Error("hint.encode: hint is false");let u=new Uint8Array(i+n);for(let a=0,d=0;a<
n;a++){for(let b=0;b<be;b++)x[a][b]!==0&&(u[d++]=b);u[i+a]=d}return u},decode:L=>{let x=[],u=0;for(let a=0;a<n;a++){let d=ze(be);if(L[i+a]<u||L[i+a]>i)return!1;
for(let b=u;b<L[i+a];b++){if(b>u&&L[b]<=L[b-1])return!1;d[L[b]]=1}u=L[i+a],x.push(d)}for(let a=u;a<i;a++)if(L[a]!==0)return!1;return x}},K=sn(s===2?3:4,L=>s-L,L=>{
if(!(-s<=L&&L<=s))throw new Error(`malformed key s1/s3 ${L} outside of ETA range [${-s}, ${s}]`);return L}),k=sn(13,L=>(1<<It-1)-L),q=sn(10),X=sn(f===1<<17?18:20,
L=>oe.smod(f-L)),re=sn(o===gr?6:4),ue=ot(re,n),me=ve("publicKey",32,ot(q,n)),pe=ve("secretKey",32,32,E,ot(K,r),ot(K,n),ot(k,n)),le=ve("signature",g,ot(X,r),H),we=s===
2?L=>L<15?2-L%5:!1:L=>L<9?4-L:!1;function _e(L){let x=L,u=ze(be);for(let a=0;a<be;){let d=x();for(let b=0;a<be&&b<d.length;b+=1){let l=we(d[b]&15),h=we(d[b]>>4&
15);l!==!1&&(u[a++]=l),a<be&&h!==!1&&(u[a++]=h)}}return u}let xe=L=>{let x=ze(be),u=ke.create({}).update(L),a=new Uint8Array(ke.blockLen);u.xofInto(a);let d=a.slice(
0,8);for(let b=be-c,l=8,h=0,p=0;b<be;b++){let w=b+1;for(;w>b;)w=a[l++],!(l<ke.blockLen)&&(u.xofInto(a),l=0);x[b]=x[w],x[w]=1-((d[h]>>p++&1)<<1),p>=8&&(h++,p=0)}
return x},Ee=L=>{let x=L,u=ze(be),a=ze(be);for(let d=0;d<x.length;d++){let{r0:b,r1:l}=P(x[d]);u[d]=b,a[d]=l}return{r0:u,r1:a}},Ae=(L,x)=>{let u=L,a=x;for(let d=0;d<
be;d++)u[d]=C(a[d],u[d]);return u},ae=(L,x)=>{let u=L,a=x,d=ze(be),b=0;for(let l=0;l<be;l++){let h=I(u[l],a[l]);d[l]=h,b+=h}return{v:d,cnt:b}},Pe=32,st=ve("seed",
32,64,32),Ce=Object.freeze({info:Object.freeze({type:"internal-ml-dsa"}),lengths:Object.freeze({secretKey:pe.bytesLen,publicKey:me.bytesLen,seed:32,signature:le.
bytesLen,signRand:Pe}),keygen:L=>{let x=new Uint8Array(34),u=L===void 0;u&&(L=Dt(32)),qe(L,32,"seed"),x.set(L),u&&V(L),x[32]=n,x[33]=r;let[a,d,b]=st.decode(ke(x,
{dkLen:st.bytesLen})),l=T(d),h=[];for(let B=0;B<r;B++)h.push(_e(l.get(B&255,B>>8&255)));let p=[];for(let B=r;B<r+n;B++)p.push(_e(l.get(B&255,B>>8&255)));let w=h.
map(B=>oe.NTT.encode(B.slice())),m=[],S=[],v=A(a),O=ze(be);for(let B=0;B<n;B++){V(O);for(let G=0;G<r;G++){let Y=In(v.get(G,B));wt(O,xt(Y,w[G]))}oe.NTT.decode(O);
let{r0:Z,r1:$}=Ee(wt(O,p[B]));m.push(Z),S.push($)}let R=me.encode([a,S]),D=ke(R,{dkLen:E}),F=pe.encode([a,b,D,h,p,m]);return v.clean(),l.clean(),V(a,d,b,h,p,w,O,
m,S,D,x),{publicKey:R,secretKey:F}},getPublicKey:L=>{let[x,u,a,d,b,l]=pe.decode(L),h=A(x),p=d.map(S=>oe.NTT.encode(S.slice())),w=[],m=ze(be);for(let S=0;S<n;S++){
m.fill(0);for(let O=0;O<r;O++){let R=In(h.get(O,S));wt(m,xt(R,p[O]))}oe.NTT.decode(m),wt(m,b[S]);let{r1:v}=Ee(m);w.push(v)}return h.clean(),V(m,p,l,d,b),me.encode(
[x,w])},sign:(L,x,u={})=>{u=ft(u,Qf),u=eo(u,Qf);let{extraEntropy:a,externalMu:d=!1}=u;d&&qe(L,y,"mu");let b=a===!1||a===void 0,l=a===!1?new Uint8Array(32):a===void 0?
Dt(Pe):a;qe(l,32,"extraEntropy");let h=(()=>{try{return pe.decode(x)}catch($){throw b&&V(l),$}})(),[p,w,m,S,v,O]=h,R=[],D=A(p);for(let $=0;$<n;$++){let G=[];for(let Y=0;Y<
r;Y++)G.push(In(D.get(Y,$)));R.push(G)}D.clean();for(let $=0;$<r;$++)oe.NTT.encode(S[$]);for(let $=0;$<n;$++)oe.NTT.encode(v[$]),oe.NTT.encode(O[$]);let F=d?L:ke.
create({dkLen:y}).update(m).update(L).digest(),B=ke.create({dkLen:y}).update(w).update(l).update(F).digest();b&&V(l),qe(B,y);let Z=T(B,X.bytesLen);e:for(let $=0;;){
let G=[];for(let ee=0;ee<r;ee++,$++)G.push(X.decode(Z.get($&255,$>>8)()));let Y=G.map(ee=>oe.NTT.encode(ee.slice())),fe=[];for(let ee=0;ee<n;ee++){let ge=ze(be);
for(let Ue=0;Ue<r;Ue++)wt(ge,xt(R[ee][Ue],Y[Ue]));oe.NTT.decode(ge),fe.push(ge)}let he=fe.map(ee=>ee.map(j)),de=ke.create({dkLen:g}).update(F).update(ue.encode(
he)).digest(),ie=oe.NTT.encode(xe(de)),Q=S.map(ee=>xt(ee,ie));for(let ee=0;ee<r;ee++)if(wt(oe.NTT.decode(Q[ee]),G[ee]),an(Q[ee],f-U)){V(de,Q,ie,he,fe,Y,G);continue e}
let te=0,ce=[];for(let ee=0;ee<n;ee++){let ge=oe.NTT.decode(xt(v[ee],ie)),Ue=no(fe[ee],ge).map(J);if(an(Ue,o-U)){V(de,Q,ie,he,fe,Y,G,ce,ge,Ue);continue e}let Be=oe.
NTT.decode(xt(O[ee],ie));if(an(Be,o)){V(de,Q,ie,he,fe,Y,G,ce,ge,Ue,Be);continue e}wt(Ue,Be);let _t=ae(Ue,he[ee]);ce.push(_t.v),te+=_t.cnt}if(te>i){V(de,Q,ie,he,
fe,Y,G,ce);continue}Z.clean();let Le=le.encode([de,Q,ce]);return V(de,Q,ce,ie,he,fe,Y,G,B,S,v,O,...R),d||V(F),Le}throw new Error("Unreachable code path reached,\
 report this error")},verify:(L,x,u,a={})=>{a=eo(a,Ps);let{externalMu:d=!1}=a;d&&qe(x,y,"mu");let[b,l]=me.decode(u),h=ke(u,{dkLen:E});if(L.length!==le.bytesLen)
return!1;let[p,w,m]=le.decode(L);if(m===!1)return!1;for(let B=0;B<r;B++)if(an(w[B],f-U))return!1;let S=d?x:ke.create({dkLen:y}).update(h).update(x).digest(),v=oe.
NTT.encode(xe(p)),O=w.map(B=>B.slice());for(let B=0;B<r;B++)oe.NTT.encode(O[B]);let R=[],D=A(b);for(let B=0;B<n;B++){let Z=xt(oe.NTT.encode(zs(l[B])),v),$=ze(be);
for(let Y=0;Y<r;Y++){let fe=In(D.get(Y,B));wt($,xt(fe,O[Y]))}let G=oe.NTT.decode(no($,Z));R.push(Ae(G,m[B]))}D.clean();let F=ke.create({dkLen:g}).update(S).update(
ue.encode(R)).digest();for(let B of m)if(!(B.reduce(($,G)=>$+G,0)<=i))return!1;for(let B of w)if(an(B,f-U))return!1;return rn(p,F)}});return Object.freeze({info:Object.
freeze({type:"ml-dsa"}),internal:Ce,securityLevel:_,keygen:Ce.keygen,lengths:Ce.lengths,getPublicKey:Ce.getPublicKey,sign:(L,x,u={})=>{u=ft(u);let a=$t(L,u.context),
d=Ce.sign(a,x,{extraEntropy:u.extraEntropy,externalMu:!1});return V(a),d},verify:(L,x,u,a={})=>(a=ut(a),qe(L,void 0,"signature"),Ce.verify(L,$t(x,a.context),u,{
externalMu:!1})),prehash:L=>{fn(L,_);let x=L;return Object.freeze({info:Object.freeze({type:"hashml-dsa"}),securityLevel:_,lengths:Ce.lengths,keygen:Ce.keygen,getPublicKey:Ce.
getPublicKey,sign:(u,a,d={})=>{d=ft(d);let b=Kt(x,u,d.context),l=Ce.sign(b,a,{extraEntropy:d.extraEntropy,externalMu:!1});return V(b),l},verify:(u,a,d,b={})=>(b=
ut(b),qe(u,void 0,"signature"),Ce.verify(u,Kt(x,a,b.context),d,{externalMu:!1}))})}})}var ro=qs({...Ks[3],CRH_BYTES:64,TR_BYTES:64,C_TILDE_BYTES:48,XOF128:jf,XOF256:Pf,securityLevel:192});var Rn=class{oHash;iHash;blockLen;outputLen;canXOF=!1;finished=!1;destroyed=!1;constructor(t,n){if(An(t),z(n,void 0,"key"),this.iHash=t.create(),typeof this.iHash.
update!="function")throw new Error("expected Hash instance");this.blockLen=this.iHash.blockLen,this.outputLen=this.iHash.outputLen;let r=this.blockLen,f=new Uint8Array(
r);f.set(n.length>r?t.create().update(n).digest():n);for(let o=0;o<f.length;o++)f[o]^=54;this.iHash.update(f),this.oHash=t.create();for(let o=0;o<f.length;o++)f[o]^=
106;this.oHash.update(f),yt(f)}update(t){return it(this),this.iHash.update(t),this}digestInto(t){it(this),Ct(t,this),this.finished=!0;let n=t.subarray(0,this.outputLen);
this.iHash.digestInto(n),this.oHash.update(n),this.oHash.digestInto(n),this.destroy()}digest(){let t=new Uint8Array(this.oHash.outputLen);return this.digestInto(
t),t}_cloneInto(t){t||=Object.create(Object.getPrototypeOf(this),{});let{oHash:n,iHash:r,finished:f,destroyed:o,blockLen:c,outputLen:s,canXOF:i}=this;return t=t,
t.finished=f,t.destroyed=o,t.blockLen=c,t.outputLen=s,t.canXOF=i,t.oHash=n._cloneInto(t.oHash),t.iHash=r._cloneInto(t.iHash),t}clone(){return this._cloneInto()}destroy(){
this.destroyed=!0,this.oHash.destroy(),this.iHash.destroy()}},fo=(()=>{let e=((t,n,r)=>new Rn(t,n).update(r).digest());return e.create=(t,n)=>new Rn(t,n),e})();function oo(e,t,n){return e&t^~e&n}function co(e,t,n){return e&t^e&n^t&n}var Nn=class{blockLen;outputLen;canXOF=!1;padOffset;isLE;buffer;view;finished=!1;length=0;pos=0;destroyed=!1;constructor(t,n,r,f){
this.blockLen=t,this.outputLen=n,this.padOffset=r,this.isLE=f,this.buffer=new Uint8Array(t),this.view=dt(this.buffer)}update(t){it(this),z(t);let{view:n,buffer:r,
blockLen:f}=this,o=t.length,c=!1;for(let s=0;s<o;){let i=Math.min(f-this.pos,o-s);if(i===f){let y=dt(t);for(;f<=o-s;s+=f)this.process(y,s);c=!0;continue}r.set(s===
0&&i===o?t:t.subarray(s,s+i),this.pos),this.pos+=i,s+=i,this.pos===f&&(this.process(n,0),this.pos=0,c=!0)}return this.length+=t.length,c&&this.roundClean(),this}digestInto(t){
it(this),Ct(t,this),this.finished=!0;let{buffer:n,view:r,blockLen:f,isLE:o}=this,{pos:c}=this;n[c++]=128,n.fill(0,c),this.padOffset>f-c&&(this.process(r,0),n.fill(
0)),Jr(r,f-8,this.length*8,o),this.process(r,0),this.roundClean();let s=t===n?r:dt(t),i=this.outputLen,y=i/4,E=this.get();if(i%4||y>E.length)throw new Error("in\
valid outputLen");for(let g=0;g<y;g++)s.setUint32(4*g,E[g],o)}digest(){let{buffer:t,outputLen:n}=this;this.digestInto(t);let r=t.slice(0,n);return this.destroy(),
r}_cloneIntoMeta(t){let{buffer:n,length:r,finished:f,destroyed:o,pos:c}=this;return t.destroyed=o,t.finished=f,t.length=r,t.pos=c,c&&t.buffer.set(n),t}clone(){return this.
_cloneInto()}},so=Uint32Array.from([1779033703,3144134277,1013904242,2773480762,1359893119,2600822924,528734635,1541459225]);var Vs=Uint32Array.from([1116352408,1899447441,3049323471,3921009573,961987163,1508970993,2453635748,2870763221,3624381080,310598401,607225278,1426881987,1925078388,
2162078206,2614888103,3248222580,3835390401,4022224774,264347078,604807628,770255983,1249150122,1555081692,1996064986,2554220882,2821834349,2952996808,3210313671,
3336571891,3584528711,113926993,338241895,666307205,773529912,1294757372,1396182291,1695183700,1986661051,2177026350,2456956037,2730485921,2820302411,3259730800,
3345764771,3516065817,3600352804,4094571909,275423344,430227734,506948616,659060556,883997877,958139571,1322822218,1537002063,1747873779,1955562222,2024104815,2227730452,
2361852424,2428436474,2756734187,3204031479,3329325298]),At=new Uint32Array(64),wr=class extends Nn{A=0;B=0;C=0;D=0;E=0;F=0;G=0;H=0;constructor(t,n){super(64,t,
8,!1),this.A=n[0]|0,this.B=n[1]|0,this.C=n[2]|0,this.D=n[3]|0,this.E=n[4]|0,this.F=n[5]|0,this.G=n[6]|0,this.H=n[7]|0}get(){let{A:t,B:n,C:r,D:f,E:o,F:c,G:s,H:i}=this;
return[t,n,r,f,o,c,s,i]}set(t,n,r,f,o,c,s,i){this.A=t|0,this.B=n|0,this.C=r|0,this.D=f|0,this.E=o|0,this.F=c|0,this.G=s|0,this.H=i|0}_cloneInto(t){return(t||=new this.
constructor).set(...this.get()),this._cloneIntoMeta(t)}process(t,n){for(let g=0;g<16;g++,n+=4)At[g]=t.getUint32(n,!1);for(let g=16;g<64;g++){let A=At[g-15],T=At[g-
2],_=Je(A,7)^Je(A,18)^A>>>3,U=Je(T,17)^Je(T,19)^T>>>10;At[g]=U+At[g-7]+_+At[g-16]|0}let{A:r,B:f,C:o,D:c,E:s,F:i,G:y,H:E}=this;for(let g=0;g<64;g++){let A=Je(s,6)^
Je(s,11)^Je(s,25),T=E+A+oo(s,i,y)+Vs[g]+At[g]|0,U=(Je(r,2)^Je(r,13)^Je(r,22))+co(r,f,o)|0;E=y,y=i,i=s,s=c+T|0,c=o,o=f,f=r,r=T+U|0}r=r+this.A|0,f=f+this.B|0,o=o+
this.C|0,c=c+this.D|0,s=s+this.E|0,i=i+this.F|0,y=y+this.G|0,E=E+this.H|0,this.set(r,f,o,c,s,i,y,E)}roundClean(){yt(At)}destroy(){this.destroyed=!0,this.set(0,0,
0,0,0,0,0,0),yt(this.buffer)}},xr=class extends wr{constructor(){super(32,so)}};var Rt=Jt(()=>new xr,Ht(1));/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Gs=Object.freeze(["extraEntropy"]),Ys=Object.freeze([]),Xs=Object.freeze({"128f":Object.
freeze({W:16,N:16,H:66,D:22,K:33,A:6,securityLevel:128}),"128s":Object.freeze({W:16,N:16,H:63,D:7,K:14,A:12,securityLevel:128}),"192f":Object.freeze({W:16,N:24,
H:66,D:22,K:33,A:8,securityLevel:192}),"192s":Object.freeze({W:16,N:24,H:63,D:7,K:17,A:14,securityLevel:192}),"256f":Object.freeze({W:16,N:32,H:68,D:17,K:35,A:9,
securityLevel:256}),"256s":Object.freeze({W:16,N:32,H:64,D:8,K:22,A:14,securityLevel:256})}),Me={WOTS:0,WOTSPK:1,HASHTREE:2,FORSTREE:3,FORSPK:4,WOTSPRF:5,FORSPRF:6},
Er=(e,t)=>{let n=Qe(t);return r=>{let f=new Uint32Array(e);for(let o=0,c=0,s=0,i=0;o<e;o++){for(;s<t;)i=i<<8|r[c++],s+=8;s-=t,f[o]=i>>>s&n}return f}},ao=BigInt(
1),Ws=BigInt(8),Js=BigInt(255);function Ar(e){return(ao<<BigInt(e))-ao}function Zs(e,t){let n=t,{N:r,W:f,H:o,D:c,K:s,A:i,securityLevel:y}=e,E=n.getContext(e);if(f!==
16)throw new Error("Unsupported Winternitz parameter");let g=4,A=Math.floor(8*r/g),T=r<=8?2:r<=136?3:4,_=Math.floor(o/c),U=A+T,N=22,j=0,J=1,I=9,M=12,C=13,P=17,H=18,
K=21;n.isCompressed||(N=32,j+=3,J+=7,I+=10,M+=10,C+=10,P+=10,H+=10,K+=10);let k=(a,d=new Uint8Array(N))=>{let b=Object.hasOwn(a,"type")?a.type:void 0,l=Object.hasOwn(
a,"height")?a.height:void 0,h=Object.hasOwn(a,"tree")?a.tree:void 0,p=Object.hasOwn(a,"layer")?a.layer:void 0,w=Object.hasOwn(a,"index")?a.index:void 0,m=Object.
hasOwn(a,"chain")?a.chain:void 0,S=Object.hasOwn(a,"hash")?a.hash:void 0,v=Object.hasOwn(a,"keypair")?a.keypair:void 0,O=Object.hasOwn(a,"subtreeAddr")?a.subtreeAddr:
void 0,R=Object.hasOwn(a,"keypairAddr")?a.keypairAddr:void 0;if(l!==void 0&&(d[P]=l),p!==void 0&&(d[j]=p),b!==void 0&&(d[I]=b),m!==void 0&&(d[P]=m),S!==void 0&&
(d[K]=S),w!==void 0&&(d[H+0]=w>>>24,d[H+1]=w>>>16,d[H+2]=w>>>8,d[H+3]=w),O&&d.set(O.subarray(0,J+8)),h!==void 0){let D=h;for(let F=7;F>=0;F--,D>>=Ws)d[J+F]=Number(
D&Js)}return v!==void 0&&(d[C]=v,_>8&&(d[M]=v>>>8)),R&&(d.set(R.subarray(0,J+8)),d[C]=R[C],_>8&&(d[M]=R[M])),d},q=Er(T,g),X=a=>{let d=Er(A,g)(a),b=0;for(let p=0;p<
d.length;p++)b+=f-1-d[p];b<<=(8-T*g%8)%8;let l=q(Uf(b,Math.ceil(T*g/8))),h=new Uint32Array(U);return h.set(d),h.set(l,d.length),h},re=Er(s,i),ue=_*(c-1),me=_,pe=ve(
"hashedMessage",Math.ceil(i*s/8),Math.ceil(ue/8),Math.ceil(_/8)),le=(a,d,b,l)=>{let p=l.Hmsg(a,d,b,pe.bytesLen),[w,m,S]=pe.decode(p),v=or(m)&Ar(ue),O=Number(or(
S))&Qe(me);return{tree:v,leafIdx:O,md:w}},we=(a,d)=>function(l,h,p,w,m){let S=l,v=d,O=(1<<a)-1,R=new Uint8Array(a*r),D=new Uint8Array(a*r),F=new Uint8Array(2*r),
B=F.subarray(0,r),Z=F.subarray(r);for(let $=0;;$++){let G=$+p;Z.set(v(h,G,S,m));let Y=0;for(let fe=$,he=p,de=h;;Y++,fe>>>=1,de>>>=1,he>>>=1){if(Y===a)return{root:Z,
authPath:D};if((fe^de)===1&&D.subarray(Y*r).set(Z),(fe&1)===0&&$<O)break;k({height:Y+1,index:(fe>>1)+(he>>1)},w),B.set(R.subarray(Y*r).subarray(0,r)),Z.set(S.thashN(
2,F,w))}R.subarray(Y*r).set(Z)}throw new Error("Unreachable code path reached, report this error")},_e=we(_,(a,d,b,l)=>{let h=b,p=new Uint8Array(U*r),w=d===a?0:
-1>>>0;k({keypair:d},l.leafAddr),k({keypair:d},l.pkAddr);for(let m=0;m<U;m++){let S=l.wotsSteps[m]|w,v=p.subarray(m*r,(m+1)*r);k({chain:m,hash:0,type:Me.WOTSPRF},
l.leafAddr),v.set(h.PRFaddr(l.leafAddr)),k({type:Me.WOTS},l.leafAddr);for(let O=0;O===S&&l.wotsSig.subarray(m*r).set(v),O!==f-1;O++)k({hash:O},l.leafAddr),v.set(
h.thash1(v,l.leafAddr))}return h.thashN(U,p,l.pkAddr)}),xe=we(i,(a,d,b,l)=>{let h=b;k({type:Me.FORSPRF,index:d},l);let p=h.PRFaddr(l);return k({type:Me.FORSTREE},
l),h.thash1(p,l)}),Ee=(a,d,b,l,h=new Uint8Array(r))=>{k({type:Me.HASHTREE},b);let p={wotsSig:new Uint8Array(L.bytesLen),wotsSteps:X(h),leafAddr:k({subtreeAddr:d}),
pkAddr:k({type:Me.WOTSPK,subtreeAddr:d})},{root:w,authPath:m}=_e(a,l,0,b,p);return{root:w,sigWots:p.wotsSig.subarray(0,U*r),sigAuth:m}},Ae=(a,d,b,l,h,p,w)=>{let m=p,
S=new Uint8Array(2*r),v=S.subarray(0,r),O=S.subarray(r,2*r);(d&1)!==0?(O.set(a.subarray(0,r)),v.set(l.subarray(0,r))):(v.set(a.subarray(0,r)),O.set(l.subarray(0,
r))),d>>>=1,b>>>=1;for(let R=0;R<h-1;R++,d>>=1,b>>=1){k({height:R+1,index:d+b},w);let D=l.subarray((R+1)*r,(R+2)*r);(d&1)!==0?(O.set(m.thashN(2,S,w)),v.set(D)):
(S.set(m.thashN(2,S,w)),O.set(D))}return k({height:h,index:d+b},w),m.thashN(2,S,w)},ae=ve("seed",r,r,r),Pe=ve("publicKey",r,r),st=ve("secretKey",r,r,Pe.bytesLen),
Ce=ot(ve("fors",r,r*i),s),L=ot(ve("wots",U*r,_*r),c),x=ve("signature",r,Ce,L),u=Object.freeze({info:Object.freeze({type:"internal-slh-dsa"}),lengths:Object.freeze(
{publicKey:Pe.bytesLen,secretKey:st.bytesLen,signature:x.bytesLen,seed:ae.bytesLen,signRand:r}),keygen(a){a!==void 0&&qe(a,ae.bytesLen,"seed"),a=a===void 0?Dt(ae.
bytesLen):Ke(a);let[d,b,l]=ae.decode(a),h=E(l,d),p=k({layer:c-1}),w=k({layer:c-1}),{root:m}=Ee(h,w,p,-1>>>0),S=Pe.encode([l,m]),v=st.encode([d,b,S]);return h.clean(),
V(d,b,m,w,p),{publicKey:S,secretKey:v}},getPublicKey:a=>{let[d,b,l]=st.decode(a);return Uint8Array.from(l)},sign:(a,d,b={})=>{b=ft(b,Gs);let{extraEntropy:l}=b,[
h,p,w]=st.decode(d),[m,S]=Pe.decode(w);l===!1?l=Ke(m):l===void 0?l=Dt(r):l=Ke(l),qe(l,r);let v=E(m,h),O=v.PRFmsg(p,l,a),{tree:R,leafIdx:D,md:F}=le(O,w,a,v),B=k(
{type:Me.WOTS,tree:R,keypair:D}),Z=[],$=k({keypairAddr:B}),G=k({keypairAddr:B}),Y=re(F),fe=[];for(let ce=0;ce<Y.length;ce++){let Le=ce<<i;k({type:Me.FORSPRF,height:0,
index:Y[ce]+Le},G);let ee=Ke(v.PRFaddr(G));k({type:Me.FORSTREE},G);let{root:ge,authPath:Ue}=xe(v,Y[ce],Le,G,$);Z.push(ge),fe.push([ee,Ue])}let he=k({type:Me.FORSPK,
keypairAddr:B}),de=Ke(v.thashN(s,gt(...Z),he)),ie=k({type:Me.HASHTREE}),Q=[];for(let ce=0;ce<c;ce++,R>>=BigInt(_)){k({tree:R,layer:ce},ie),k({subtreeAddr:ie,keypair:D},
B);let{sigWots:Le,sigAuth:ee,root:ge}=Ee(v,B,ie,D,de);de.set(ge),V(ge),Q.push([Le,ee]),D=Number(R&Ar(_))}v.clean();let te=x.encode([O,fe,Q]);return V(O,l,ie,B,$,
G,Y,Z),te},verify:(a,d,b,l={})=>{ut(l,Ys);let[h,p]=Pe.decode(b),w=b;if(qe(a,void 0,"signature"),a.length!==x.bytesLen)return!1;let[m,S,v]=x.decode(a),O=E(h),{tree:R,
leafIdx:D,md:F}=le(m,w,d,O),B=k({type:Me.WOTS,tree:R,keypair:D}),Z=[],$=k({type:Me.FORSTREE,keypairAddr:B}),G=re(F);for(let Q=0;Q<S.length;Q++){let[te,ce]=S[Q],
Le=Q<<i;k({height:0,index:G[Q]+Le},$);let ee=O.thash1(te,$);Z.push(Ke(Ae(ee,G[Q],Le,ce,i,O,$)))}let Y=k({type:Me.FORSPK,keypairAddr:B}),fe=Ke(O.thashN(s,gt(...Z),
Y)),he=k({type:Me.HASHTREE}),de=k({type:Me.WOTSPK}),ie=new Uint8Array(U*r);for(let Q=0;Q<v.length;Q++,R>>=BigInt(_)){let[te,ce]=v[Q];k({tree:R,layer:Q},he),k({subtreeAddr:he,
keypair:D},B),k({keypairAddr:B},de);let Le=X(fe);for(let ge=0;ge<U;ge++){k({chain:ge},B);let Ue=f-1-Le[ge],Be=Le[ge],_t=ie.subarray(ge*r);_t.set(te.subarray(ge*
r,(ge+1)*r));for(let ht=Be;ht<Be+Ue&&ht<f;ht++)k({hash:ht},B),_t.set(O.thash1(_t,B))}let ee=O.thashN(U,ie,de);fe=Ke(Ae(ee,D,0,ce,_,O,he)),D=Number(R&Ar(_))}return rn(
fe,p)}});return Object.freeze({info:Object.freeze({type:"slh-dsa"}),internal:u,securityLevel:y,lengths:u.lengths,keygen:u.keygen,getPublicKey:u.getPublicKey,sign:(a,d,b={})=>{
b=ft(b);let l=$t(a,b.context),h=u.sign(l,d,{extraEntropy:b.extraEntropy});return V(l),h},verify:(a,d,b,l={})=>(l=ut(l),u.verify(a,$t(d,l.context),b)),prehash:a=>{
fn(a,y);let d=a;return Object.freeze({info:Object.freeze({type:"hashslh-dsa"}),lengths:u.lengths,keygen:u.keygen,getPublicKey:u.getPublicKey,sign:(b,l,h={})=>{h=
ft(h);let p=Kt(d,b,h.context),w=u.sign(p,l,{extraEntropy:h.extraEntropy});return V(p),w},verify:(b,l,h,p={})=>(p=ut(p),u.verify(b,Kt(d,l,p.context),h))})}})}var Qs=(e,t)=>n=>(r,f)=>{let{N:o}=n,c={prf:0,thash:0,hmsg:0,gen_message_random:0,mgf1:0},s=new Uint8Array(4),i=dt(s),y=e.create().update(r).update(new Uint8Array(
e.blockLen-o)),E=t.create().update(r).update(new Uint8Array(t.blockLen-o)),g=y.clone(),A=E.clone(),T=new Uint8Array(e.outputLen),_=new Uint8Array(t.outputLen),U=new Uint8Array(
e.outputLen),N=T.subarray(0,o),j=_.subarray(0,o),J=U.subarray(0,o);function I(C,P,H){c.mgf1++;let K=new Uint8Array(Math.ceil(P/H.outputLen)*H.outputLen);if(P>2**
32)throw new Error("mask too long");for(let k=0,q=K;q.length;k++)i.setUint32(0,k,!1),H.create().update(C).update(s).digestInto(q),q=q.subarray(H.outputLen);return V(
K.subarray(P)),K.subarray(0,P)}let M=(C,P,H,K)=>(k,q,X)=>{c.thash++;let re=k*o;return C._cloneInto(P).update(X).update(q.length===re?q:q.subarray(0,re)).digestInto(
H),K};return{PRFaddr:C=>{if(!f)throw new Error("No sk seed");return c.prf++,y._cloneInto(g).update(C).update(f).digestInto(U),J},PRFmsg:(C,P,H)=>(c.gen_message_random++,
fo.create(t,C).update(P).update(H).digest().subarray(0,o)),Hmsg:(C,P,H,K)=>{c.hmsg++;let k=gt(C.subarray(0,o),P.subarray(0,o),t.create().update(C.subarray(0,o)).
update(P).update(H).digest());return I(k,K,t)},thash1:M(y,g,T,N).bind(null,1),thashN:M(E,A,_,j),clean:()=>{y.destroy(),E.destroy(),g.destroy(),A.destroy(),V(T,_,
U)}}},ea={isCompressed:!0,getContext:Qs(Rt,Rt)};var io=Zs(Xs["128f"],ea);function Tr(e,t,n,[r,f],o){return Object.freeze({id:e,name:t,coseAlgorithm:n,publicKeyBytes:r,signatureBytes:f,verifies:(s,i,y)=>s.length===r&&y.length===f&&o.verify(
y,i,s)})}var Tt=Tr("ml-dsa-65","ML-DSA-65 (FIPS 204)",-49,[1952,3309],ro),Fn=Tr("falcon-512-padded-r3","Falcon-512 (round 3, padded)",-66512,[897,666],Zf),Mn=Tr(
"slh-dsa-sha2-128f","SLH-DSA-SHA2-128f (FIPS 205)",-66128,[32,17088],io),St=[Tt,Fn,Mn];function Nt(e){return{"ml-dsa-65":e(Tt),"falcon-512-padded-r3":e(Fn),"slh\
-dsa-sha2-128f":e(Mn)}}var ta="trefoil:statement/2",et=255,Lr=16,Or=64,bo=64,na=120n,dn=1024,uo=32,Vt=-65537,bn=255,ra=65535,Ne=4294967295,fa=["no_match","match"],oa=[void 0,"plain","\
shared"];function Cn(e){return vt(e)}function Hn(e){let t=De.of("statement",e,dn);t.map("statement",8);let n=t.key("iss",1).text("iss",et),r=t.key("aud",3).text(
"aud",et),f=t.key("exp",4).uint("exp"),o=t.key("iat",6).uint("iat"),c=f-o;if(c<1n||c>na)throw t.outOfRange("exp");let s=t.key("cti",7).bytes("cti",17),i=s[16]??
uo;if(i>=uo)throw t.outOfRange("cti");let y=t.key("eat_nonce",10).bytes("eat_nonce",Lr,Or);t.key("eat_profile",265).format("eat_profile",ta),t.key("trefoil",Vt);
let E=ca(t);t.finish("statement");let g=s.slice(0,16);return Object.freeze({issuer:n,audience:r,expiresAt:f,issuedAt:o,batchId:g,place:i,nonce:y,...E})}var Sr=11;
function ca(e){let t=e.map("trefoil",Sr,Sr+1),n={suite:un(e.key("suite",1)),tenant:e.key("tenant",2).bytes("tenant",16),account:e.key("account",3).bytes("accoun\
t",32),requestDigest:e.key("request_digest",4).bytes("request_digest",32),decision:lo(e.key("decision",5),"decision",fa),probeMode:lo(e.key("probe_mode",6),"pro\
be_mode",oa),policyId:_r(e.key("policy",7),"policy").number("policy.id",Ne),policyVersion:e.number("policy.version",Ne),fmrClass:e.key("fmr_class",8).number("fm\
r_class",bn),embedder:_r(e.key("model",9),"model").text("model.embedder",bo),quantiser:e.text("model.quantiser",bo),templateGeneration:e.key("template_generatio\
n",10).number("template_generation",Ne),proof:sa(e.key("proof",11))};if(t===Sr)return{...n,reveal:void 0};let r=e.offset,f=aa(e.key("reveal",12));if(n.proof===void 0)
throw e.outOfRange("reveal",r);return{...n,reveal:f}}function un(e){let t=e.offset,n=e.uint("suite");if(n===1n)return 1;let r=`signature suite ${n} is unknown; \
update the verifier`;throw e.error("suite","unknown-suite",r,t)}function _r(e,t){return e.array(t,2),e}function lo(e,t,n){let r=e.offset,f=e.uint(t),o=f<BigInt(
n.length)?n[Number(f)]:void 0;if(o===void 0)throw e.outOfRange(t,r);return o}function sa(e){if(e.isNull()){e.null("proof");return}return e.array("proof",5),Object.
freeze({circuit:e.number("proof.circuit",ra),root:e.bytes("proof.root",32),level:e.number("proof.level",bn),epoch:e.number("proof.epoch",Ne),session:e.bytes("pr\
oof.session",32)})}function aa(e){_r(e,"reveal");let t=e.offset,n=e.number("reveal.position",Ne);if(n===0)throw e.outOfRange("reveal.position",t);return Object.
freeze({position:n,value:e.bytes("reveal.value",32)})}var yo=63,ln=32,po=Rt(new Uint8Array);function ia(e){return Rt.create().update(Uint8Array.of(0)).update(e).digest()}function ho(e,t){return Rt.create().update(Uint8Array.
of(1)).update(e).update(t).digest()}function da(e,t,n,r){if(t<0n||t>=n)return;let f=t,o=n-1n,c=e;for(let s of r){if(o===0n)return;if((f&1n)===1n||f===o)for(c=ho(
s,c);(f&1n)===0n&&f!==0n;)f>>=1n,o>>=1n;else c=ho(c,s);f>>=1n,o>>=1n}return o===0n?c:void 0}function jn(e,t,n,r,f){let o=da(ia(e),t,n,r);return o!==void 0&&He(o,
f)}var mo="trefoil:seal/2",ba=24*1024,wo=1,xo=4,Eo=15,Ao=395,kr=1,ua=18,la=544,ha=3,tt=class e{header;signatures;constructor(t,n){this.header=Object.freeze(t),this.
signatures=Object.freeze(n)}static decode(t){let n=De.of("seal",t,ba),r=e.read(n);return n.finish("seal"),r}static read(t){t.array("seal",4);let n=t.bytes("seal\
.root",ln),r=go(t,Tt),f=pa(r.protectedHeader,n),o=c=>{let s=t.offset,{protectedHeader:i,signature:y}=go(t,c);if(He(i,To(f,c)))return y;throw t.error("seal.prote\
cted","wrong-identifier","the identifier does not match the content it names",s)};return new e(f,Nt(c=>c===Tt?r.signature:o(c)))}reference(){let{header:t}=this,
n=new at().array(4).bytes(t.keySetId);return So(n,t),n.int(kr).bytes(t.root),{sealNumber:t.sealNumber,digest:vt(n.finish())}}isSignedBy(t,n){return t.verifies(n,
ya(this.header,t),this.signatures[t.id])}};function ya(e,t){return new at().array(4).text("Signature1").bytes(To(e,t)).bytes(new Uint8Array).bytes(e.root).finish()}
function To(e,t){let n=new at().map(4);return n.int(wo).int(t.coseAlgorithm),n.int(xo).bytes(e.keySetId),So(n.int(Eo),e),n.int(Ao).int(kr).finish()}function So(e,t){
e.map(4),e.int(1).text(t.issuer),e.int(6).uint(t.time),e.int(265).text(mo),e.int(Vt).map(t.restored===void 0?6:7),e.int(1).int(t.suite),e.int(2).uint(t.sealNumber),
e.int(3).bytes(t.previous),e.int(4).uint(t.treeSize),e.int(5).bytes(t.logRoot),e.int(6).array(t.vaults.length);for(let n of t.vaults)n===void 0?e.null():e.array(
2).uint(n.generation).uint(n.restored);t.restored!==void 0&&e.int(7).array(2).uint(t.restored.first).uint(t.restored.time)}function pa(e,t){let n=new De(e);n.map(
"seal.protected",4),n.key("seal.alg",wo).key("seal.alg",Tt.coseAlgorithm);let r=n.key("seal.kid",xo).bytes("seal.kid",32);n.key("seal.claims",Eo).map("seal.clai\
ms",4);let f=n.key("seal.iss",1).text("seal.iss",et),o=n.key("seal.iat",6).uint("seal.iat");n.key("seal.eat_profile",265).format("seal.eat_profile",mo);let c=n.
key("seal.trefoil",Vt).map("seal.trefoil",6,7),s=un(n.key("seal.suite",1)),i=n.key("seal.number",2).uint("seal.number"),y=n.key("seal.previous",3).bytes("seal.p\
revious",32),E=n.key("seal.tree_size",4).uint("seal.tree_size"),g=n.key("seal.log_root",5).bytes("seal.log_root",ln),A=Array.from({length:n.key("seal.vaults",6).
array("seal.vaults",0,ha)},()=>ga(n)),T=c===7?ma(n.key("seal.restored",7)):void 0;if(E===0n)throw n.outOfRange("seal.tree_size");if(i===0n&&y.some(U=>U!==0))throw n.
outOfRange("seal.previous");if(i===0n&&!He(g,po))throw n.outOfRange("seal.log_root");if(T!==void 0&&(T.first>i||T.time>o))throw n.outOfRange("seal.restored");n.
key("seal.vds",Ao).key("seal.vds",kr),n.finish("seal.protected");let _=Object.freeze(A);return{issuer:f,keySetId:r,sealNumber:i,previous:y,logRoot:g,treeSize:E,
root:t,time:o,suite:s,vaults:_,restored:T}}function ga(e){if(e.isNull()){e.null("seal.vault");return}e.array("seal.vault",2);let t=e.uint("seal.vault.generation");
return Object.freeze({generation:t,restored:e.uint("seal.vault.restored")})}function ma(e){e.array("seal.restored",2);let t=e.uint("seal.restored.first");return Object.
freeze({first:t,time:e.uint("seal.restored.time")})}function go(e,t){e.tag("seal.receipt",ua),e.array("seal.receipt",4);let n=e.bytes("seal.protected",1,la);return e.
map("seal.unprotected",0),e.null("seal.payload"),{protectedHeader:n,signature:e.bytes("seal.signature",t.signatureBytes)}}var wa="trefoil:attestation/1",xa=28*1024;function lt(e){let t=De.of("attestation",e,xa);t.map("attestation",6),t.key("format",0).format("format",wa);let n=t.key(
"statement",1).bytes("statement",1,dn),r=t.key("tree_size",2).uint("tree_size"),f=t.key("leaf_index",3).uint("leaf_index"),o=t.key("path",4).array("path",0,yo),
c=Array.from({length:o},()=>t.bytes("path",ln)),s=Ea(t);return t.finish("attestation"),{statement:n,treeSize:r,leafIndex:f,path:c,evidence:s}}function Ea(e){let t=e.
offset,n=e.int("seal");if(n===5n)return{form:"full",seal:tt.read(e)};if(n!==6n)throw e.unexpectedKey("seal",5,n,t);return e.array("seal_reference",2),{form:"com\
pact",reference:{sealNumber:e.uint("seal_reference.number"),digest:e.bytes("seal_reference.digest",32)}}}var Se=class extends Error{name="JsonError"},Aa=8,Ta=(1n<<64n)-1n;function _o(e){let t=new vr(e),n=t.value(Aa);return t.finish(),n}var vr=class{#t;#e=0;constructor(t){
this.#t=t}#n(t){return new Se(`unexpected JSON at character ${this.#e}: ${t}`)}#r(){for(;` 	
\r`.includes(this.#t[this.#e]??"end");)this.#e+=1;return this.#t[this.#e]??""}#f(t){return this.#r()!==t?!1:(this.#e+=1,!0)}finish(){if(this.#r()!=="")throw this.#n(
"the text must end here")}value(t){if(t===0)throw this.#n("nested too deeply");let n=this.#r();return n==="{"?this.#o(t):n==="["?this.#s(t):n==='"'?this.#c():this.#t.
startsWith("null",this.#e)?(this.#e+=4,null):this.#a()}#o(t){let n=new Map;if(this.#e+=1,this.#f("}"))return n;do{if(this.#r()!=='"')throw this.#n("a field name\
 belongs here");let r=this.#c();if(n.has(r))throw this.#n(`field ${JSON.stringify(r)} is repeated`);if(!this.#f(":"))throw this.#n("a colon belongs here");n.set(
r,this.value(t-1))}while(this.#f(","));if(!this.#f("}"))throw this.#n("a comma or a closing brace belongs here");return n}#s(t){let n=[];if(this.#e+=1,this.#f("\
]"))return n;do n.push(this.value(t-1));while(this.#f(","));if(!this.#f("]"))throw this.#n("a comma or a closing bracket belongs here");return n}#c(){let t=this.#e+
1;for(;t<this.#t.length&&this.#t[t]!=='"';)t+=this.#t[t]==="\\"?2:1;let n=Sa(this.#t.slice(this.#e,t+1));if(n===void 0)throw this.#n("a string of Unicode charac\
ters belongs here");return this.#e=t+1,n}#a(){let t=/(?:0|[1-9][0-9]{0,19})(?![0-9.eE])/y;t.lastIndex=this.#e;let n=t.exec(this.#t)?.[0];if(n===void 0||BigInt(n)>
Ta)throw this.#n("an object, an array, a string or an unsigned 64-bit integer belongs here");return this.#e+=n.length,BigInt(n)}};function Sa(e){try{let t=JSON.
parse(e);return typeof t=="string"&&!/\p{Cs}/u.test(t)?t:void 0}catch{return}}var Br="trefoil:trust-root/1",vo="trefoil:key-set/1",Lo=64,Oo=512*1024,_a=320*1024,Bo=4,Uo={version:1n,previous:new Uint8Array(32),cosignatures:[]},Ge=class e{issuer;keySets;version;previous;cosignatures;constructor(t,n,r){
this.issuer=t,this.keySets=Object.freeze(n),this.version=r.version,this.previous=r.previous,this.cosignatures=Object.freeze(r.cosignatures),Object.freeze(this)}digest(){
let t=this.version===1n,n=new at().array(t?3:5).text(Br).text(this.issuer).array(this.keySets.length);for(let r of this.keySets){Fo(n.array(3),r);let{status:f}=r;
n.int(["active","retired","revoked"].indexOf(f.state)).uint(f.state==="active"?0n:f.since)}return t||n.uint(this.version).bytes(this.previous),vt(n.finish())}keySet(t){
return this.keySets.find(n=>He(n.id,t))}static decode(t){let n=De.of("trust_root",t,_a),r=n.array("trust_root",3,6);if(r!==3&&r!==6)throw n.wrongLength("trust_r\
oot");n.format("trust_root.format",Br);let f=n.text("trust_root.issuer",et),o=n.array("trust_root.key_sets",1,Lo),c=Array.from({length:o},()=>va(n));if(ko(c))throw n.
outOfRange("trust_root.key_sets");let s=r===3?Uo:ka(n);return n.finish("trust_root"),new e(f,c,s)}static fromJson(t){if(typeof t!="string")throw new TypeError("\
a trust root in text form is a string");if(t.length>Oo||Yt(t).length>Oo)throw new Se("the JSON text is too long; pass exactly one object");let n=_o(t),[r,f,o]=Ur(
n,["format","issuer","key_sets"],...Io);if(r!==Br)throw new Se("unknown format or version; update this program");if(typeof f!="string"||!wn(f,et))throw new Se("\
the issuer must be 1 to 255 bytes without control characters");if(!Array.isArray(o)||o.length<1||o.length>Lo)throw new Se("a trust root holds 1 to 64 key sets; \
drop the oldest retired ones");let c=o.map(Ua);if(ko(c))throw new Se("a key set is listed twice; list it once with its current status");return new e(f,c,La(n))}},
Io=["version","previous","cosignatures"];function La(e){let[t,n,r]=Io.map(c=>e.get(c)??null);if(t===null&&n===null&&r===null)return Uo;let f=typeof n=="string"?
Ro(n):void 0;if(typeof t!="bigint"||t<2n||f===void 0||!Array.isArray(r))throw new Se("version 1 has neither version, previous nor cosignatures; later ones have \
all three");if(r.length>Bo)throw new Se("a trust root has at most 4 cosignatures");let o=r.map(Oa);return{version:t,previous:f,cosignatures:o}}function Oa(e){let[
t,...n]=Ur(e,["key_set",...St.map(o=>o.id)]),r=typeof t=="string"?Ro(t):void 0;if(r===void 0)throw new Se("a key set's id is 64 lower-case hexadecimal digits");
let f=Nt(o=>Mo(n[St.indexOf(o)],o,o.signatureBytes));return{keySetId:r,signatures:f}}function Ro(e){if(/^[0-9a-f]{64}$/.test(e))return Uint8Array.from({length:32},
(t,n)=>Number.parseInt(e.slice(2*n,2*n+2),16))}function ka(e){let t=e.offset,n=e.uint("trust_root.version"),r=e.bytes("trust_root.previous",32),f=e.array("trust\
_root.cosignatures",0,Bo),o=Array.from({length:f},()=>(e.array("trust_root.cosignature",4),{keySetId:e.bytes("trust_root.cosignature.key_set",32),signatures:Nt(
s=>e.bytes("trust_root.cosignature",s.signatureBytes))}));if(n<2n)throw e.outOfRange("trust_root.version",t);return{version:n,previous:r,cosignatures:o}}function ko(e){
return new Set(e.map(t=>Lt(t.id))).size!==e.length}function No(e){let t=new at;return Fo(t,e),Object.freeze({id:vt(t.finish()),...e})}function Fo(e,t){e.array(6).
text(vo);for(let n of St)e.bytes(t.publicKeys[n.id]);e.uint(t.notBefore).uint(t.notAfter)}function va(e){e.array("trust_root.key_set",3),e.array("key_set",6),e.
format("key_set.format",vo);let t=Nt(y=>e.bytes(`key_set.${y.id}`,y.publicKeyBytes)),n=e.uint("key_set.not_before"),r=e.offset,f=e.uint("key_set.not_after");if(n>=
f)throw e.outOfRange("key_set.not_after",r);let o=e.offset,c=e.uint("trust_root.status"),s=e.uint("trust_root.since"),i=Ba(c,s);if(i===void 0)throw e.outOfRange(
"trust_root.status",o);return No({publicKeys:t,notBefore:n,notAfter:f,status:i})}function Ba(e,t){if(e===0n&&t===0n)return{state:"active"};if(e===1n)return{state:"\
retired",since:t};if(e===2n)return{state:"revoked",since:t}}function Ua(e){let t=["id","status","not_before","not_after",...St.map(E=>E.id)],[n,r,f,o,...c]=Ur(e,
t,"since"),s=e.get("since")??null,i=Nt(E=>Ra(c[St.indexOf(E)],E));if(typeof f!="bigint"||typeof o!="bigint"||f>=o)throw new Se("a key set's not_before must be e\
arlier than its not_after");let y=No({publicKeys:i,notBefore:f,notAfter:o,status:Ia(r,s)});if(Lt(y.id)===n)return y;throw new Se("a key set's id does not match \
its keys; fetch the file again")}function Ia(e,t){if(e==="active"&&t===null)return{state:e};if((e==="retired"||e==="revoked")&&typeof t=="bigint")return{state:e,
since:t};throw new Se("status is active without since, or retired or revoked with since")}function Ra(e,t){return Mo(e,t,t.publicKeyBytes)}function Mo(e,t,n){let r=typeof e==
"string"?gn(e):void 0;if(r?.length!==n)throw new Se(`${t.id} is not unpadded base64url of the right length`);return r}function Ur(e,t,...n){if(!(e instanceof Map))
throw new Se("unexpected JSON: an object belongs here");for(let r of e.keys())if(!n.includes(r)&&!t.includes(r))throw new Se(`unexpected JSON: unknown field ${JSON.
stringify(r)}`);return t.map(r=>{if(!e.has(r))throw new Se(`unexpected JSON: field ${r} is missing`);return e.get(r)})}var Na=60,Ir=10,Rr=Symbol("trefoil: dangerous: any nonce"),Co={trustRoot:!0,audience:!0,nonce:!0,tenant:!1,account:!1,requestDigest:!1,decision:!1,probeMode:!1,
proofLevel:!1,acceptNoProof:!1,policyVersion:!1,fmrClass:!1,clockSkew:!1},Gt=class{trustRoot;audience;nonce;tenant;account;requestDigest;decision;probeMode;proofLevel;policyVersion;fmrClass;clockSkew;constructor(t){
Fa(t);let{trustRoot:n,audience:r,nonce:f,tenant:o,account:c,requestDigest:s}=t,{decision:i="match",probeMode:y,proofLevel:E,policyVersion:g,fmrClass:A=0}=t,{acceptNoProof:T=!1,
clockSkew:_=Ir}=t;if(!(n instanceof Ge))throw new TypeError("trustRoot must be a TrustRoot");if(typeof r!="string"||!wn(r,et))throw new TypeError("audience must\
 be text of 1 to 255 bytes without control characters");if(i!=="match"&&i!=="any")throw new TypeError('decision must be "match" or "any"');if(y!==void 0&&y!=="p\
lain"&&y!=="shared")throw new TypeError('probeMode must be "plain" or "shared"');if(typeof T!="boolean")throw new TypeError("acceptNoProof must be true or false");
if(T&&E!==void 0)throw new TypeError("proofLevel requires a proof and acceptNoProof none; leave one of them out");this.trustRoot=n,this.audience=r,this.nonce=f===
Rr?f:Pn("nonce",f,Lr,Or),this.tenant=o===void 0?void 0:Pn("tenant",o,16),this.account=c===void 0?void 0:Pn("account",c,32),this.requestDigest=s===void 0?void 0:
Pn("requestDigest",s,32),this.decision=i==="any"?void 0:i,this.probeMode=y,this.proofLevel=T?void 0:hn("proofLevel",E??0,bn),this.policyVersion=g===void 0?void 0:
Object.freeze({id:hn("policyVersion.id",g.id,Ne),version:hn("policyVersion.version",g.version,Ne)}),this.fmrClass=hn("fmrClass",A,bn),this.clockSkew=BigInt(hn("\
clockSkew",_,Na)),Object.freeze(this)}};function Fa(e){for(let[t,n]of Object.entries(e)){if(!Object.hasOwn(Co,t))throw new TypeError(`unknown requirement ${t}; \
correct its name`);if(n==null)throw new TypeError(`requirement ${t} has no value; leave it out where it is not required`)}for(let[t,n]of Object.entries(Co))if(n&&
!Object.hasOwn(e,t))throw new TypeError(`requirement ${t} is missing`)}function Pn(e,t,n,r=n){if(!Mt(t)||t.length<n||t.length>r){let f=n===r?`${n}`:`${n} to ${r}`;
throw new TypeError(`${e} must be a Uint8Array of ${f} bytes`)}return new Uint8Array(t)}function hn(e,t,n){if(!Number.isInteger(t)||t<0||t>n)throw new RangeError(
`${e} must be a whole number from 0 to ${n}`);return t}var Fe=class e extends Error{name="VerifyError";code;seal;constructor(t,n,r={}){super(n,r.cause&&{cause:r.cause}),this.code=t,this.seal=r.seal}static undecodable(t){
return t.problem==="unknown-suite"?new e("unknown-suite",t.explanation,{cause:t}):new e("malformed",`not a valid attestation: ${t.message}`,{cause:t})}static signature(t){
return new e(`signature-${t.id}`,`the ${t.name} signature does not verify; do not accept`)}};var Ma=[Fn,Tt,Mn],jo,Ho=class e{statement;statementDigest;leafIndex;seal;constructor(t,n,r,f){this.statement=t,this.statementDigest=n,this.leafIndex=r,this.seal=
f,Object.freeze(this)}static{jo=(...t)=>new e(...t)}};function Po(e,t,n){$o(t,n);let r=Ft(()=>lt(e)),{evidence:f}=r;if(f.form==="full")return Ko(r,f.seal,t,n);let{
sealNumber:o}=f.reference,c=`compact attestation; fetch seal ${o} from the issuer and pass it too`;throw new Fe("seal-needed",c,{seal:f.reference})}function Do(e,t,n,r){
if($o(n,r),!(t instanceof tt))throw new TypeError("seal must be a Seal; make one with Seal.decode");let f=Ft(()=>lt(e)),{evidence:o}=f,c=o.form==="full"?o.seal.
reference():o.reference;if(Mr(c,t.reference()))return Ko(f,t,n,r);let s=`the seal passed is not the one named; fetch seal ${c.sealNumber} from the issuer`;throw new Fe(
"other-seal",s,{seal:c})}function Nr(e,t){if(!(e instanceof tt))throw new TypeError("seal must be a Seal; make one with Seal.decode");if(!(t instanceof Ge))throw new TypeError(
"trustRoot must be a TrustRoot");let{header:n}=e;if(n.issuer!==t.issuer)throw Dn(n.issuer);let{publicKeys:r}=Pa(n,t);for(let f of Ma)if(!e.isSignedBy(f,r[f.id]))
throw Fe.signature(f)}function $o(e,t){if(!(e instanceof Gt))throw new TypeError("policy must be a Policy");Fr(t)}function Fr(e){if(!Number.isSafeInteger(e)||e<
0)throw new RangeError("now must be whole Unix seconds")}function Ft(e){try{return e()}catch(t){throw t instanceof We?Fe.undecodable(t):t}}function Mr(e,t){return e.
sealNumber===t.sealNumber&&He(e.digest,t.digest)}function se(e,t,n){if(e)throw new Fe(t,n)}function Ko(e,t,n,r){let f=Ft(()=>Hn(e.statement)),{header:o}=t;Ca(f,
n),Ha(f,n),ja(f,o,n.clockSkew,BigInt(r));let{leafIndex:c,treeSize:s,path:i}=e;se(o.suite!==f.suite,"suite-mismatch","statement and seal name different suites; d\
o not accept"),se(o.treeSize!==s,"tree-size-mismatch","attestation and seal name different tree sizes; do not accept");let y=Cn(e.statement);return se(!jn(y,c,s,
i,o.root),"not-in-tree","the statement is not in the sealed tree; do not accept"),Nr(t,n.trustRoot),jo(f,y,c,o)}function Dn(e){return new Fe("issuer",`issued by\
 ${e}, not by the trust root's issuer; do not accept`)}function Ca(e,t){let{issuer:n,audience:r}=e,{nonce:f,tenant:o,account:c,requestDigest:s}=t;if(n!==t.trustRoot.
issuer)throw Dn(n);se(r!==t.audience,"audience",`made for ${r}, not for this relying party; do not accept`),se(f!==Rr&&!He(f,e.nonce),"nonce","the nonce is not \
the one issued; treat as a replay"),se(o!==void 0&&!He(o,e.tenant),"tenant","another tenant than required; do not accept"),se(c!==void 0&&!He(c,e.account),"acco\
unt","another account than required; do not accept"),se(s!==void 0&&!He(s,e.requestDigest),"request-digest","made for another request; do not accept")}function Ha(e,t){
let{decision:n,probeMode:r,proof:f,policyId:o,policyVersion:c,fmrClass:s}=e,{proofLevel:i,policyVersion:y}=t;se(t.decision!==void 0&&t.decision!==n,"decision",`\
the decision is ${n}; nobody was authenticated`),se(t.probeMode!==void 0&&t.probeMode!==r,"probe-mode",`probe mode ${r} is not the required one`),se(i!==void 0&&
f===void 0,"no-proof","no credential proof: the tenant's application alone vouched for the request; do not accept, unless your policy says that this is enough"),
se(i!==void 0&&f!==void 0&&f.level<i,"proof-level","the credential proof is below the required level; ask for a step-up"),se(y!==void 0&&(o!==y.id||c<y.version),
"policy-version","made under another policy or an older version; authenticate again"),se(s<t.fmrClass,"fmr-class",`false-match class ${s} is weaker than require\
d`)}function ja(e,t,n,r){let{issuedAt:f,expiresAt:o}=e,c=r+n;se(f>c,"not-yet-valid",`issued at ${f}, in the future; check the clocks`),se(r>=o+n,"expired",`expi\
red at ${o}; authenticate again`),se(t.time>c||t.time+n<f,"seal-time",`sealed at ${t.time}, before its statement or in the future`)}function Pa(e,t){let{keySetId:n,
time:r}=e,f=`key set ${Lt(n)}`,o=t.keySet(n);if(o===void 0){let y=`${f} is not in the trust root; update it from the issuer`;throw new Fe("unknown-key-set",y)}let{
status:c,notBefore:s,notAfter:i}=o;if(c.state!=="active"){let{state:y,since:E}=c;se(y==="revoked","revoked-key-set",`${f} is revoked since ${E}; do not accept`),
se(r>=E,"retired-key-set",`${f} was retired at ${E}, before this seal; do not accept`)}return se(r<s||r>=i,"key-set-validity",`sealed at ${r}, outside the valid\
ity of ${f}`),o}var Da="trefoil:change/1";function qo(e){let t=De.of("change",e,dn);t.map("change",5);let n=t.key("iss",1).text("iss",et),r=t.key("iat",6).uint("iat"),f=t.key("cti",7).bytes("cti",16);t.
key("eat_profile",265).format("eat_profile",Da),t.key("trefoil",Vt).map("trefoil",4);let o=un(t.key("suite",1)),c=t.key("tenant",2).bytes("tenant",16),s=t.key("\
kind",3).uint("kind"),i=Object.freeze($a(s,t.key("what",4)));return t.finish("change"),Object.freeze({suite:o,issuer:n,tenant:c,changedAt:r,salt:f,what:i})}function Vo(e){
try{return qo(lt(e).statement)}catch(t){if(t instanceof We)return;throw t}}function $a(e,t){let n=t.offset;switch(e){case 1n:return t.array("what",3),{kind:"enr\
olled",handle:t.bytes("what.handle",32),generation:t.number("what.generation",Ne),consent:t.bytes("what.consent",32)};case 2n:return t.array("what",2),{kind:"er\
ased",handle:t.bytes("what.handle",32),generation:t.number("what.generation",Ne)};case 3n:return t.array("what",4),{kind:"root_published",generation:t.number("w\
hat.generation",Ne),generationMin:t.number("what.generation_min",Ne),root:t.bytes("what.root",32),head:t.bytes("what.head",32)};case 4n:return t.array("what",3),
{kind:"policy_changed",policyId:t.number("what.policy_id",Ne),policyVersion:t.number("what.policy_version",Ne),policyDigest:t.bytes("what.digest",32)};case 5n:return t.
array("what",2),{kind:"session_opened",session:t.bytes("what.session",32),expiresAt:t.uint("what.expires_at")};case 6n:return t.array("what",1),{kind:"session_e\
nded",session:t.bytes("what.session",32)};case 7n:return t.array("what",4),{kind:"replaced",handle:t.bytes("what.handle",32),generation:t.number("what.generatio\
n",Ne),replaced:t.number("what.replaced",Ne),consent:t.bytes("what.consent",32)};default:throw t.outOfRange("kind",n)}}var Go,zo=class e{change;digest;leafIndex;seal;constructor(t,n,r,f){
this.change=t,this.digest=n,this.leafIndex=r,this.seal=f,Object.freeze(this)}static{Go=(...t)=>new e(...t)}};function Yo(e,t,n,r){Wo(t,n,r);let f=Ft(()=>lt(e)),
{evidence:o}=f;if(o.form==="full")return Jo(f,o.seal,t,n,r);let{sealNumber:c}=o.reference,s=`compact receipt; fetch seal ${c} from the issuer and pass it too`;throw new Fe(
"seal-needed",s,{seal:o.reference})}function Xo(e,t,n,r,f){if(Wo(n,r,f),!(t instanceof tt))throw new TypeError("seal must be a Seal; make one with Seal.decode");
let o=Ft(()=>lt(e)),{evidence:c}=o,s=c.form==="full"?c.seal.reference():c.reference;if(Mr(s,t.reference()))return Jo(o,t,n,r,f);let i=`the seal passed is not th\
e one named; fetch seal ${s.sealNumber} from the issuer`;throw new Fe("other-seal",i,{seal:s})}function Wo(e,t,n){if(!(e instanceof Ge))throw new TypeError("tru\
stRoot must be a TrustRoot");if(t!==void 0&&!(Mt(t)&&t.length===16))throw new TypeError("tenant must be a Uint8Array of 16 bytes, or undefined");Fr(n)}function Jo(e,t,n,r,f){
let o=Ft(()=>qo(e.statement)),{header:c}=t;if(o.issuer!==n.issuer)throw Dn(o.issuer);se(r!==void 0&&!He(o.tenant,r),"tenant","another tenant than required; do n\
ot accept");let s=BigInt(Ir),{changedAt:i}=o,y=BigInt(f)+s;se(i>y,"not-yet-valid",`done at ${i}, in the future; check the clocks`),se(c.time>y||c.time+s<i,"seal\
-time",`sealed at ${c.time}, before its change or in the future`);let{leafIndex:E,treeSize:g,path:A}=e;se(c.suite!==o.suite,"suite-mismatch","change and seal na\
me different suites; do not accept"),se(c.treeSize!==g,"tree-size-mismatch","receipt and seal name different tree sizes; do not accept");let T=Cn(e.statement);return se(
!jn(T,E,g,A,c.root),"not-in-tree","the change is not in the sealed tree; do not accept"),Nr(t,n),Go(o,T,E,c)}var Ye=class extends Error{name="InputError"};function Qo(e){let t=Cr(e);if(t===void 0||t==="")return e;if(t.startsWith("{")){let n=Ka(t),r=typeof n=="string"?Zo(
n):void 0;if(r===void 0)throw new Ye("This JSON has no field \u201Cattestation\u201D with base64 in it, alone or in \u201Creceipt\u201D.");return r}return Zo(t)??
e}function ec(e){let t=e.trim().toLowerCase();if(!/^(?:[0-9a-f]{2}){16,64}$/.test(t))throw new Ye("The nonce is 32 to 128 hexadecimal digits: the one that you i\
ssued for this login.");return Uint8Array.from({length:t.length/2},(n,r)=>Number.parseInt(t.slice(2*r,2*r+2),16))}function Cr(e){try{return new TextDecoder("utf\
-8",{fatal:!0}).decode(e).trim()}catch{return}}function Ka(e){try{let t=JSON.parse(e);return t.attestation??t.receipt?.attestation}catch{throw new Ye("This begi\
ns like JSON and is not JSON: copy all of it.")}}function Zo(e){let t=e.replace(/\s/g,"").replaceAll("+","-").replaceAll("/","_").replace(/={1,2}$/,"");return gn(
t)}var za="No credential proof: that the request was this person's is the word of the tenant's application alone. A relying party that expects a proof must not acc\
ept it.";function tc(e,t){let{statement:n,seal:r}=e,f=n.decision==="match",o=Oe("div","",`outcome ${f?"good":"attested-denial"}`),c=n.proof===void 0?", without \
a credential proof":"";return o.append(Oe("h2",`${f?"Verified: match":"Verified: no match"}${c}`),Oe("p",f?"The holder of this account was authenticated.":"The \
service attests a denial: nobody was authenticated.")),n.proof===void 0&&o.append(Oe("p",za)),o.append(...rc(t)),o.append(oc([["Issuer",n.issuer],["Audience",n.
audience],["Account",n.account],["Proof",n.proof===void 0?"none":`level ${n.proof.level}`],["Session",n.proof?.session??"none"],["Tenant",n.tenant],["Nonce",n.nonce],
["Issued",yn(n.issuedAt)],["Expires",yn(n.expiresAt)],...fc(r,e.leafIndex)]),Oe("p","Keep the account: it is the same at every login of this person here. Sessio\
n and nonce are not.")),o}function nc(e,t){let{change:n,seal:r}=e,{heading:f,details:o}=qa(n.what),c=Oe("div","","outcome good");return c.append(Oe("h2",`Verifi\
ed receipt: ${f}`),Oe("p","The service attests that it made this change. It says nothing about a login."),...rc(t),oc([["Issuer",n.issuer],["Tenant",n.tenant],...o,
["Done",yn(n.changedAt)],...fc(r,e.leafIndex)]),Oe("p","Compare tenant and what was done with what you expect: this page does not know it.")),c}function qa(e){switch(e.
kind){case"enrolled":return{heading:"subject enrolled",details:[["Subject",e.handle],["Generation",`${e.generation}`],["Consent digest",e.consent]]};case"erased":
return{heading:"subject erased",details:[["Subject",e.handle],["Generation",`${e.generation}`]]};case"root_published":return{heading:"credential root published",
details:[["Generation",`${e.generation}, accepted from ${e.generationMin}`],["Credential root",e.root],["Log head",e.head]]};case"policy_changed":return{heading:"\
policy changed",details:[["Policy",`${e.policyId} version ${e.policyVersion}`],["Policy digest",e.policyDigest]]};case"session_opened":return{heading:"session o\
pened",details:[["Session",e.session],["Ends",yn(e.expiresAt)]]};case"session_ended":return{heading:"session ended",details:[["Session",e.session]]};case"replac\
ed":{let t=`${e.generation}, in place of ${e.replaced}`;return{heading:"template replaced",details:[["Subject",e.handle],["Generation",t],["Consent digest",e.consent]]}}}}
function rc(e){let t=Oe("ul","");return t.append(...St.map(({name:r})=>Oe("li",`${r} signature verifies`))),e?[t,Oe("p","The trust root came from this server. T\
hat shows consistency, not who the issuer is.")]:[t]}function fc(e,t){return[["Sealed",`${yn(e.time)}, seal ${e.sealNumber}`],["Root",e.root],["Place",`leaf ${t}\
 of ${e.treeSize}`],["Key set",e.keySetId]]}function oc(e){let t=Oe("dl","");for(let[n,r]of e){let f=typeof r=="string"?Oe("dd",r):Oe("dd",Lt(r),"bytes");t.append(
Oe("dt",n),f)}return t}function pn(e,t,n){let r=Oe("div","","outcome refused");return r.setAttribute("role","alert"),r.append(Oe("h2",e),Oe("p",t)),n!==void 0&&
r.append(Oe("p",`Code: ${n}`)),r}function yn(e){let t=new Date(Number(e)*1e3);return Number.isNaN(t.getTime())?`${e} s`:t.toISOString().replace(".000Z","Z")}function Oe(e,t,n=""){
let r=document.createElement(e);return r.textContent=t,n!==""&&(r.className=n),r}var Va=512*1024,Hr=Xe("form",HTMLFormElement),$n=Xe("outcome",HTMLElement),jr=Xe("attestation",HTMLTextAreaElement),sc=Xe("attestation-state",HTMLElement),Kn=Xe(
"trust-root",HTMLTextAreaElement),Pr,zn;function Xe(e,t){let n=document.getElementById(e);if(!(n instanceof t))throw new Error(`the page has no ${e}`);return n}
function Dr(e){return String(new FormData(Hr).get(e))}async function Ga(){let e=Pr??new TextEncoder().encode(jr.value);if(e.length===0)throw new Ye("Paste an at\
testation, or drop a file.");let t=Qo(e),n=Vo(t);return n===void 0?Ya(t):Xa(t,n)}async function Ya(e){let t=Xe("audience",HTMLInputElement).value.trim();if(t===
"")throw new Ye("Enter the audience: the relying party that the attestation must be for.");let n=ec(Xe("nonce",HTMLInputElement).value),r=await ac(),f=new Gt({trustRoot:r,
audience:t,nonce:n,decision:"any",acceptNoProof:!0}),o=ic(()=>Za(e)),c=await dc(()=>Po(e,f,o),s=>Do(e,s,f,o));return tc(c,$r())}async function Xa(e,t){let n=await ac(),
r=ic(()=>Number(t.changedAt)),f=await dc(()=>Yo(e,n,void 0,r),o=>Xo(e,o,n,void 0,r));return nc(f,$r())}function $r(){return Dr("root")==="served"}async function ac(){
return $r()?Wa():Ja()}function ic(e){return Dr("time")==="issued"?e():Math.floor(Date.now()/1e3)}async function dc(e,t){try{return e()}catch(n){if(!(n instanceof
Fe)||n.code!=="seal-needed"||n.seal===void 0)throw n;let r=await bc(`/v1/seals/${n.seal.sealNumber}`,`seal ${n.seal.sealNumber}`);return t(tt.decode(new Uint8Array(
await r.arrayBuffer())))}}async function Wa(){let e=await bc("/v1/keys","the trust root");return Ge.fromJson(await e.text())}function Ja(){if(zn!==void 0)return Ge.
decode(zn);if(Kn.value.trim()==="")throw new Ye("Paste your trust root, or choose its file.");return Ge.fromJson(Kn.value)}async function bc(e,t){let n=await fetch(
e,{credentials:"omit"}).catch(()=>{});if(n?.ok)return n;throw new Ye(`This server did not give ${t}${n?` (status ${n.status})`:""}; try again.`)}function Za(e){
try{return Number(Hn(lt(e).statement).issuedAt)}catch(t){throw t instanceof We?Fe.undecodable(t):t}}function Kr(e){return e instanceof Fe?pn("Not verified",e.message,
e.code):e instanceof Se||e instanceof We?pn("The trust root cannot be read",e.message):e instanceof Ye?pn("Nothing was verified yet",e.message):pn("Nothing was \
verified",`Unexpected: ${String(e)}`)}async function uc(e,t){if(e.size>Va)throw new Ye(`${e.name} is too large: ${e.size} bytes.`);let n=new Uint8Array(await e.
arrayBuffer()),r=Cr(n),f=r!==void 0&&/^[\x20-\x7e\s]*$/.test(r);return t.value=f?r:"",f?void 0:n}async function lc(e){if(e!==void 0)try{Pr=await uc(e,jr),sc.textContent=
`${e.name}, ${e.size} bytes`}catch(t){$n.replaceChildren(Kr(t))}}Hr.addEventListener("submit",async e=>{e.preventDefault(),$n.replaceChildren(await Ga().catch(Kr)),
$n.focus()});Hr.addEventListener("change",()=>{let e=Dr("root")==="own";Xe("own-root",HTMLElement).hidden=!e,Xe("served-note",HTMLElement).hidden=e});jr.addEventListener(
"input",()=>{Pr=void 0,sc.textContent=""});Kn.addEventListener("input",()=>{zn=void 0});Xe("attestation-file",HTMLInputElement).addEventListener("change",e=>{lc(
e.currentTarget.files?.[0])});Xe("trust-root-file",HTMLInputElement).addEventListener("change",async e=>{let t=e.currentTarget.files?.[0];try{t!==void 0&&(zn=await uc(
t,Kn))}catch(n){$n.replaceChildren(Kr(n))}});var cc=Xe("drop",HTMLElement);for(let e of["dragover","dragleave","drop"])cc.addEventListener(e,t=>{t.preventDefault(),
cc.classList.toggle("over",e==="dragover"),e==="drop"&&lc(t.dataTransfer?.files[0])});
