var gc=Array.from({length:256},(t,e)=>e.toString(16).padStart(2,"0")),mc="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";function Ft(t){return ArrayBuffer.
isView(t)&&Object.prototype.toString.call(t)==="[object Uint8Array]"}function He(t,e){return t.length===e.length&&t.every((n,r)=>n===e[r])}function yt(t){return Array.
from(t,e=>gc[e]).join("")}function gn(t){let e=new Uint8Array(Math.floor(t.length*3/4)),n=0,r=0,o=0;for(let f of t){let c=mc.indexOf(f);if(c<0)return;o=o<<6|c,r+=
6,r>=8&&(r-=8,e[n++]=o>>r,o&=(1<<r)-1)}return r<6&&o===0?e:void 0}var Xe=class extends Error{name="DecodeError";offset;field;problem;explanation;constructor(e,n,r,o){super(`${n} at byte ${e}: ${o}`),this.offset=e,this.field=n,
this.problem=r,this.explanation=o}};var mn=0,qn=1,zr=2,qr=3,Vr=4,Gr=5,wc=6,Yr=246,xc=64,Ec=(1n<<63n)-1n,Ac=new TextDecoder("utf-8",{fatal:!0,ignoreBOM:!0}),_c=new TextEncoder;function Yt(t){return _c.
encode(t)}function wn(t,e){let{length:n}=Yt(t);return n>=1&&n<=e&&!/[\p{Cc}\p{Cs}]/u.test(t)}var at=class{#t=[];#e(e,n){let r=[0x18n,0x100n,0x10000n,0x100000000n].
findIndex(f=>n<f);if(r===0){this.#t.push(e<<5|Number(n));return}let o=r<0?3:r-1;this.#t.push(e<<5|24+o);for(let f=8*(2**o-1);f>=0;f-=8)this.#t.push(Number(n>>BigInt(
f)&0xffn))}uint(e){return this.#e(mn,e),this}int(e){return e<0?this.#e(qn,BigInt(-1-e)):this.#e(mn,BigInt(e)),this}bytes(e){this.#e(zr,BigInt(e.length));for(let n of e)
this.#t.push(n);return this}text(e){let n=Yt(e);this.#e(qr,BigInt(n.length));for(let r of n)this.#t.push(r);return this}array(e){return this.#e(Vr,BigInt(e)),this}map(e){
return this.#e(Gr,BigInt(e)),this}null(){return this.#t.push(Yr),this}finish(){return Uint8Array.from(this.#t)}},De=class t{#t;#e=0;constructor(e){this.#t=e}static of(e,n,r){
if(!Ft(n))throw new TypeError(`${e} must be a Uint8Array`);if(n.length>r)throw new t(new Uint8Array).wrongLength(e);return new t(new Uint8Array(n))}get offset(){
return this.#e}error(e,n,r,o=this.#e){return new Xe(o,e,n,r)}outOfRange(e,n=this.#e){return this.error(e,"out-of-range","the value is outside its limits",n)}wrongLength(e,n=this.#e){
return this.error(e,"wrong-length","the length is outside its limits",n)}finish(e){if(this.#e!==this.#t.length)throw this.error(e,"trailing-bytes","bytes follow\
 the end; pass exactly one object")}#n(e,n){if(n>this.#t.length-this.#e)throw this.error(e,"truncated","the input ends here; fetch the complete file again");return this.#e+=
n,this.#t.subarray(this.#e-n,this.#e)}#r(e,n,r){let o=this.#e,f=this.#n(e,1)[0]??0;if(f>>5!==n)throw this.error(e,"wrong-type",`${r} belongs here`,o);let c=f&31;
if(c<24)return BigInt(c);if(c>27)throw this.#o(e,o);let s=1<<c-24,i=0n;for(let E of this.#n(e,s))i=i<<8n|BigInt(E);let h=s===1?24n:1n<<BigInt(4*s);if(i<h)throw this.#o(
e,o);return i}#o(e,n){return this.error(e,"not-canonical","not deterministic CBOR (RFC 8949 4.2); pass the issuer's bytes unchanged",n)}uint(e){return this.#r(e,
mn,"an unsigned integer")}number(e,n){let r=this.#e,o=this.uint(e);if(o>BigInt(n))throw this.outOfRange(e,r);return Number(o)}int(e){let n=this.#e,r=(this.#t[n]??
0)>>5===qn,o=this.#r(e,r?qn:mn,"an integer");if(o>Ec)throw this.outOfRange(e,n);return r?-1n-o:o}key(e,n){let r=this.#e,o=this.int(e);if(o!==BigInt(n))throw this.
unexpectedKey(e,n,o,r);return this}unexpectedKey(e,n,r,o){return this.error(e,"unexpected-key",`map key ${n} belongs here, found ${r}`,o)}bytes(e,n,r=n){let o=this.#e,
f=this.#r(e,zr,"a byte string");return this.#f(e,o,f,n,r).slice()}text(e,n){let r=this.#e,o=this.#r(e,qr,"a text string"),f=this.#f(e,r,o,1,n);try{let c=Ac.decode(
f);if(!/\p{Cc}/u.test(c))return c}catch{}throw this.error(e,"invalid-text","text must be UTF-8 without control characters",r)}format(e,n){let r=this.#e;if(this.
text(e,xc)!==n)throw this.error(e,"unknown-format",`this version reads ${n} only; update it`,r)}#f(e,n,r,o,f){if(r<BigInt(o)||r>BigInt(f))throw this.wrongLength(
e,n);return this.#n(e,Number(r))}array(e,n,r=n){let o=this.#e,f=this.#r(e,Vr,"an array");if(f<BigInt(n)||f>BigInt(r))throw this.wrongLength(e,o);return Number(f)}map(e,n,r=n){
let o=this.#e,f=this.#r(e,Gr,"a map");if(f<BigInt(n)||f>BigInt(r))throw this.wrongLength(e,o);return Number(f)}tag(e,n){let r=this.#e;if(this.#r(e,wc,"a tag")!==
BigInt(n))throw this.outOfRange(e,r)}null(e){if(!this.isNull())throw this.error(e,"wrong-type","null belongs here");this.#n(e,1)}isNull(){return this.#t[this.#e]===
Yr}};var xn=BigInt(4294967295),Wr=BigInt(32);function Tc(t,e=!1){return e?{h:Number(t&xn),l:Number(t>>Wr&xn)}:{h:Number(t>>Wr&xn)|0,l:Number(t&xn)|0}}function Xr(t,e=!1){
let n=t.length,r=new Uint32Array(n),o=new Uint32Array(n);for(let f=0;f<n;f++){let{h:c,l:s}=Tc(t[f],e);[r[f],o[f]]=[c,s]}return[r,o]}var Sc=t=>t/2**32|0,kc=t=>t>>>0;function Jr(t,e,n,r){let o=Sc(n),f=kc(n);t.setUint32(e,r?f:o,r),t.setUint32(e+4,r?o:f,r)}function Wt(t){return t instanceof Uint8Array||ArrayBuffer.isView(t)&&t.constructor.name==="Uint8Array"&&"BYTES_PER_ELEMENT"in t&&t.BYTES_PER_ELEMENT===1}var En=t=>t?
`"${t}" `:"";function Re(t,e=""){if(typeof t!="number")throw new TypeError(En(e)+"expected number, got "+typeof t);if(!Number.isSafeInteger(t)||t<0)throw new RangeError(
En(e)+"expected integer >= 0, got "+t);return t}function eo(t,e=""){if(typeof t!="boolean")throw new TypeError(En(e)+"expected boolean, got type="+typeof t);return t}
function z(t,e,n=""){if(Wt(t)&&(e===void 0||t.length===e))return t;e!==void 0&&Re(e,"length");let r=Wt(t),o=e!==void 0?` of length ${e}`:"",f=r?`length=${t.length}`:
`type=${typeof t}`,c=En(n)+"expected Uint8Array"+o+", got "+f;throw r?new RangeError(c):new TypeError(c)}function An(t){if(typeof t!="function"||typeof t.create!="function")throw new TypeError("expected hash wrapped by utils.createHasher");if(Re(t.outputLen),Re(t.blockLen),
t.outputLen<1||t.blockLen<1)throw new Error("hash blockLen / outputLen must be >= 1")}var Oc=(t,e)=>{if(t===null||typeof t!="object"||Array.isArray(t))throw new TypeError(
(e==="object"?"":`"${e}" `)+"expected object, got type="+typeof t)},Zr=(t,e)=>{Oc(t,e);let n=Object.getPrototypeOf(t);if(n!==Object.prototype&&n!==null)throw new TypeError(
`"${e}" expected plain object`);if(Object.hasOwn(t,"__proto__"))throw new TypeError(`"${e}.__proto__" is not allowed`)};function it(t,e=!0){if(t.destroyed)throw new Error(
"hash was destroyed");if(e&&t.finished)throw new Error("digest() was already called")}function Ct(t,e){z(t,void 0,"output");let n=e.outputLen;if(!(t.length>=n))
throw new RangeError('"output" expected length >= '+n)}function to(t){return new Uint8Array(t.buffer,t.byteOffset,t.byteLength)}function Ot(t){return new Uint32Array(
t.buffer,t.byteOffset,Math.floor(t.byteLength/4))}function pt(...t){for(let e=0;e<t.length;e++)t[e].fill(0)}function dt(t){return new DataView(t.buffer,t.byteOffset,
t.byteLength)}function Je(t,e){return t<<32-e|t>>>e}var Vn=new Uint8Array(new Uint32Array([287454020]).buffer)[0]===68;function vc(t){return t<<24&4278190080|t<<8&16711680|t>>>8&65280|t>>>24&255}function Lc(t){for(let e=0;e<t.length;e++)t[e]=vc(t[e]);return t}var nt=Vn?t=>t:Lc,no=typeof Uint8Array.from([]).toHex=="function"&&typeof Uint8Array.fromHex=="\
function",Bc=Array.from({length:256},(t,e)=>e.toString(16).padStart(2,"0"));function gt(t){if(z(t),no)return t.toHex();let e="";for(let n=0;n<t.length;n++)e+=Bc[t[n]];
return e}function Qr(t){return t>=48&&t<=57?t-48:t>=65&&t<=70?t-55:t>=97&&t<=102?t-87:void 0}function Xt(t){if(typeof t!="string")throw new TypeError("hex strin\
g expected, got "+typeof t);if(no)try{return Uint8Array.fromHex(t)}catch(o){throw o instanceof SyntaxError?new RangeError(o.message):o}let e=t.length,n=e/2;if(e%
2)throw new RangeError("hex string expected, got unpadded hex of length "+e);let r=new Uint8Array(n);for(let o=0,f=0;o<n;o++,f+=2){let c=Qr(t.charCodeAt(f)),s=Qr(
t.charCodeAt(f+1));if(c===void 0||s===void 0){let i=t[f]+t[f+1];throw new RangeError('hex string expected, got non-hex character "'+i+'" at index '+f)}r[o]=c*16+
s}return r}function mt(...t){let e=0;for(let r=0;r<t.length;r++){let o=t[r];z(o),e+=o.length}let n=new Uint8Array(e);for(let r=0,o=0;r<t.length;r++){let f=t[r];n.set(f,o),
o+=f.length}return n}function Gn(t,e,n="opts"){return Zr(t,"defaults"),e!==void 0&&Zr(e,n),Object.assign(Object.create(null),t,e)}function Jt(t,e={}){if(typeof t!="function")throw new TypeError(
'"hashCons" expected function, got type='+typeof t);e=Gn({},e,"info");let n=(o,f)=>t(f).update(o).digest(),r=t(void 0);return n.outputLen=r.outputLen,n.blockLen=
r.blockLen,n.canXOF=r.canXOF,n.create=o=>t(o),Object.assign(n,e),Object.freeze(n)}function vt(t=32){Re(t,"bytesLength");let e=typeof globalThis=="object"?globalThis.
crypto:null;if(typeof e?.getRandomValues!="function")throw new Error("crypto.getRandomValues must be defined");if(t>65536)throw new RangeError(`"bytesLength" ex\
pected <= 65536, got ${t}`);return e.getRandomValues(new Uint8Array(t))}var Ht=t=>({oid:Uint8Array.from([6,9,96,134,72,1,101,3,4,2,t])});var Uc=BigInt(0),Zt=BigInt(1),Ic=BigInt(2),Rc=BigInt(7),Nc=BigInt(256),Mc=BigInt(113),fo=[],co=[],so=[];for(let t=0,e=Zt,n=1,r=0;t<24;t++){[n,r]=[r,(2*n+3*r)%5],
fo.push(2*(5*r+n)),co.push((t+1)*(t+2)/2%64);let o=Uc;for(let f=0;f<7;f++)e=(e<<Zt^(e>>Rc)*Mc)%Nc,e&Ic&&(o^=Zt<<(Zt<<BigInt(f))-Zt);so.push(o)}var ao=Xr(so,!0),
Fc=ao[0],Cc=ao[1],Hc=(t,e,n)=>t<<n|e>>>32-n,Pc=(t,e,n)=>e<<n|t>>>32-n,jc=(t,e,n)=>e<<n-32|t>>>64-n,Dc=(t,e,n)=>t<<n-32|e>>>64-n,ro=(t,e,n)=>n>32?jc(t,e,n):Hc(t,
e,n),oo=(t,e,n)=>n>32?Dc(t,e,n):Pc(t,e,n),Pt=new Uint32Array(10);function $c(t,e=24){if(!(t instanceof Uint32Array))throw new TypeError('"s" expected Uint32Arra\
y(50), got type='+typeof t);if(t.length!==50)throw new RangeError('"s" expected Uint32Array(50), got length='+t.length);if(Re(e,"rounds"),e<1||e>24)throw new Error(
'"rounds" expected integer 1..24');for(let n=24-e;n<24;n++){for(let f=0;f<10;f++)Pt[f]=t[f]^t[f+10]^t[f+20]^t[f+30]^t[f+40];for(let f=0;f<10;f+=2){let c=(f+8)%10,
s=(f+2)%10,i=Pt[s],h=Pt[s+1],E=ro(i,h,1)^Pt[c],g=oo(i,h,1)^Pt[c+1];for(let A=0;A<50;A+=10)t[f+A]^=E,t[f+A+1]^=g}let r=t[2],o=t[3];for(let f=0;f<24;f++){let c=co[f],
s=ro(r,o,c),i=oo(r,o,c),h=fo[f];r=t[h],o=t[h+1],t[h]=s,t[h+1]=i}for(let f=0;f<50;f+=10){let c=t[f],s=t[f+1],i=t[f+2],h=t[f+3];t[f]^=~t[f+2]&t[f+4],t[f+1]^=~t[f+
3]&t[f+5],t[f+2]^=~t[f+4]&t[f+6],t[f+3]^=~t[f+5]&t[f+7],t[f+4]^=~t[f+6]&t[f+8],t[f+5]^=~t[f+7]&t[f+9],t[f+6]^=~t[f+8]&c,t[f+7]^=~t[f+9]&s,t[f+8]^=~c&i,t[f+9]^=~s&
h}t[0]^=Fc[n],t[1]^=Cc[n]}pt(Pt)}var _n=class t{state;pos=0;posOut=0;finished=!1;state32;destroyed=!1;blockLen;suffix;outputLen;canXOF;enableXOF=!1;rounds;constructor(e,n,r,o=!1,f=24){
if(Re(e,"blockLen"),Re(n,"suffix"),Re(f,"rounds"),eo(o,"enableXOF"),this.blockLen=e,this.suffix=n,this.outputLen=r,this.enableXOF=o,this.canXOF=o,this.rounds=f,
Re(r,"outputLen"),!(0<e&&e<200))throw new Error('"blockLen" must be 1..199');this.state=new Uint8Array(200),this.state32=Ot(this.state)}clone(){return this._cloneInto()}keccak(){
nt(this.state32),$c(this.state32,this.rounds),nt(this.state32),this.posOut=0,this.pos=0}update(e){it(this),z(e);let{blockLen:n,state:r,state32:o}=this,f=e.length,
c=n%4===0&&e.byteOffset%4===0,s=n/4,i=c&&f>=n?Ot(e):void 0;for(let h=0;h<f;){if(i!==void 0&&this.pos===0&&h%4===0&&f-h>=n){for(let g=0,A=h/4;g<s;g++)o[g]^=i[A+g];
h+=n,this.pos=n,this.keccak();continue}let E=Math.min(n-this.pos,f-h);for(let g=0;g<E;g++)r[this.pos++]^=e[h++];this.pos===n&&this.keccak()}return this}finish(){
if(this.finished)return;this.finished=!0;let{state:e,suffix:n,pos:r,blockLen:o}=this;e[r]^=n,(n&128)!==0&&r===o-1&&this.keccak(),e[o-1]^=128,this.keccak()}writeInto(e){
it(this,!1),z(e),this.finish();let n=this.state,{blockLen:r}=this;for(let o=0,f=e.length;o<f;){this.posOut>=r&&this.keccak();let c=Math.min(r-this.posOut,f-o);e.
set(n.subarray(this.posOut,this.posOut+c),o),this.posOut+=c,o+=c}return e}xofInto(e){if(!this.enableXOF)throw new Error("XOF is not enabled");return this.writeInto(
e)}xof(e){return Re(e),this.xofInto(new Uint8Array(e))}digestInto(e){if(Ct(e,this),this.finished)throw new Error("digest() was already called");this.writeInto(e.
length===this.outputLen?e:e.subarray(0,this.outputLen)),this.destroy()}digest(){let e=new Uint8Array(this.outputLen);return this.digestInto(e),e}destroy(){this.
destroyed=!0,pt(this.state)}_cloneInto(e){let{blockLen:n,suffix:r,outputLen:o,rounds:f,enableXOF:c}=this;return e||=new t(n,r,o,c,f),e.blockLen=n,e.state32.set(
this.state32),e.pos=this.pos,e.posOut=this.posOut,e.finished=this.finished,e.rounds=f,e.suffix=r,e.outputLen=o,e.enableXOF=c,e.canXOF=this.canXOF,e.destroyed=this.
destroyed,e}},Kc=(t,e,n,r={})=>Jt(()=>new _n(e,t,n),r);var Lt=Kc(6,136,32,Ht(8));var io=(t,e,n,r={})=>Jt((o={})=>(o=Gn({},o),new _n(e,t,o.dkLen===void 0?n:o.dkLen,!0)),r),bo=io(31,168,16,Ht(11)),Le=io(31,136,32,Ht(12));/*! noble-ciphers - MIT License (c) 2023 Paul Miller (paulmillr.com) */function Yn(t){return t instanceof Uint8Array||ArrayBuffer.isView(t)&&t.constructor.name==="Uint8Array"&&"BYTES_PER_ELEMENT"in t&&t.BYTES_PER_ELEMENT===1}var Tn=t=>t?
`"${t}" `:"";function Wn(t,e=""){if(typeof t!="boolean")throw new TypeError(Tn(e)+"expected boolean, got type="+typeof t);return t}function Bt(t,e=""){if(typeof t!=
"number")throw new TypeError(Tn(e)+"expected number, got "+typeof t);if(!Number.isSafeInteger(t)||t<0)throw new RangeError(Tn(e)+"expected integer >= 0, got "+t);
return t}function ye(t,e,n=""){if(Yn(t)&&(e===void 0||t.length===e))return t;e!==void 0&&Bt(e,"length");let r=Yn(t),o=e!==void 0?` of length ${e}`:"",f=r?`lengt\
h=${t.length}`:`type=${typeof t}`,c=Tn(n)+"expected Uint8Array"+o+", got "+f;throw r?new RangeError(c):new TypeError(c)}var uo=(t,e)=>{if(t===null||typeof t!="o\
bject"||Array.isArray(t))throw new TypeError(e==="object"?"expected valid options object":`"${e}" expected object, got type=${typeof t}`)};function lo(t){return new Uint8Array(t.buffer,t.byteOffset,t.byteLength)}function Pe(t){return new Uint32Array(t.buffer,t.byteOffset,Math.floor(t.byteLength/4))}
function wt(...t){for(let e=0;e<t.length;e++)t[e].fill(0)}var rt=new Uint8Array(new Uint32Array([287454020]).buffer)[0]===68;function Xn(t){return t<<24&4278190080|t<<8&16711680|t>>>8&65280|t>>>24&255}var $e=rt?t=>t:t=>Xn(
t)>>>0;function zc(t){for(let e=0;e<t.length;e++)t[e]=Xn(t[e]);return t}var Ze=rt?t=>t:zc;function ho(t,e){return!t.byteLength||!e.byteLength?!1:t.buffer===e.buffer&&t.byteOffset<e.byteOffset+e.byteLength&&e.byteOffset<t.byteOffset+t.byteLength}function Sn(t,e){
if(ho(t,e)&&t.byteOffset<e.byteOffset)throw new Error("complex overlap of input and output is not supported")}function yo(t,e){return uo(t,"defaults"),uo(e,"opts"),Object.assign(t,e)}var po=(t,e)=>{function n(r,...o){if(ye(r,void 0,"key"),t.nonceLength!==void 0){let g=o[0];ye(g,t.varSizeNonce?void 0:t.nonceLength,"nonce")}let f=t.tagLength,c=t.
nonceLength!==void 0?1:0;if(!t.withAAD){for(let g=c;g<o.length;g++)if(Yn(o[g]))throw new Error("AAD not supported")}t.withAAD&&o[c]!==void 0&&ye(o[c],void 0,"AA\
D");let s=e(r,...o),i=(g,A)=>{if(A!==void 0){if(g!==2)throw new Error("cipher output not supported");ye(A,void 0,"output")}},h=!1;return{encrypt(g,A){if(h)throw new Error(
"cannot encrypt() twice with same key + nonce");return h=!0,ye(g,void 0,"data"),i(s.encrypt.length,A),s.encrypt(g,A)},decrypt(g,A){if(ye(g,void 0,"data"),f&&g.length<
f)throw new Error('"ciphertext" expected length >= tagLength='+f);return i(s.decrypt.length,A),s.decrypt(g,A)}}}return Object.assign(n,t),n};function kn(t,e,n=!0){
if(e===void 0)return new Uint8Array(t);if(ye(e,t,"output"),n&&!bt(e))throw new Error("invalid output, must be aligned");return e}function bt(t){return t.byteOffset%4===0}function Ut(t){return Uint8Array.from(ye(t))}var Jn=16,qc=4;var Vc=283;function Gc(t){if(![16,24,32].includes(t.length))throw new Error('"aes key" expected Uint8Array of length 16/24/32, got length='+t.length)}function nr(t){
return t<<1^Vc&-(t>>7)}function go(t,e){let n=0;for(;e>0;e>>=1)n^=t&-(e&1),t=nr(t);return n}var Zn=(t,e,n=1)=>{if(!Number.isSafeInteger(n)||n<0||n>4294967040)throw new Error(
"incBytes: wrong carry "+n);ye(t);for(let r=0;r<t.length;r++){let o=e?r:t.length-1-r;n=n+(t[o]&255)|0,t[o]=n&255,n>>>=8}},Yc=(()=>{let t=new Uint8Array(256);for(let n=0,
r=1;n<256;n++,r^=nr(r))t[n]=r;let e=new Uint8Array(256);e[0]=99;for(let n=0;n<255;n++){let r=t[255-n];r|=r<<8,e[t[n]]=(r^r>>4^r>>5^r>>6^r>>7^99)&255}return wt(t),
e})();var Wc=t=>t<<24|t>>>8,Qn=t=>t<<8|t>>>24;function Xc(t,e){if(t.length!==256)throw new Error("wrong sbox length");let n=new Uint32Array(256).map((h,E)=>e(t[E])),r=n.
map(Qn),o=r.map(Qn),f=o.map(Qn),c=new Uint32Array(256*256),s=new Uint32Array(256*256),i=new Uint16Array(256*256);for(let h=0;h<256;h++)for(let E=0;E<256;E++){let g=h*
256+E;c[g]=n[h]^r[E],s[g]=o[h]^f[E],i[g]=t[h]<<8|t[E]}return{sbox:t,sbox2:i,T0:n,T1:r,T2:o,T3:f,T01:c,T23:s}}var wo=Xc(Yc,t=>go(t,3)<<24|t<<16|t<<8|go(t,2));var Jc=(()=>{let t=new Uint8Array(16);for(let e=0,n=1;e<16;e++,n=nr(n))t[e]=n;return t})();function Zc(t){ye(t);let e=t.length;Gc(t);let{sbox2:n}=wo,r=[];(!rt||
!bt(t))&&r.push(t=Ut(t));let o=Ze(Pe(t)),f=o.length,c=i=>Qt(n,i,i,i,i),s=new Uint32Array(e+28);s.set(o);for(let i=f;i<s.length;i++){let h=s[i-1];i%f===0?h=c(Wc(
h))^Jc[i/f-1]:f>6&&i%f===4&&(h=c(h)),s[i]=s[i-f]^h}return wt(...r),s}function On(t,e,n,r,o,f){return t[n<<8&65280|r>>>8&255]^e[o>>>8&65280|f>>>24&255]}function Qt(t,e,n,r,o){return t[e&255|n&65280]|t[r>>>16&255|o>>>16&65280]<<16}
function mo(t,e,n,r,o){let{sbox2:f,T01:c,T23:s}=wo,i=0;e^=t[i++],n^=t[i++],r^=t[i++],o^=t[i++];let h=t.length/4-2;for(let S=0;S<h;S++){let U=t[i++]^On(c,s,e,n,r,
o),N=t[i++]^On(c,s,n,r,o,e),P=t[i++]^On(c,s,r,o,e,n),J=t[i++]^On(c,s,o,e,n,r);e=U,n=N,r=P,o=J}let E=t[i++]^Qt(f,e,n,r,o),g=t[i++]^Qt(f,n,r,o,e),A=t[i++]^Qt(f,r,
o,e,n),_=t[i++]^Qt(f,o,e,n,r);return{s0:E,s1:g,s2:A,s3:_}}function Qc(t,e,n,r){ye(e,Jn,"nonce"),ye(n);let o=n.length;r=kn(o,r),Sn(n,r);let f=e,c=Pe(f),s=Pe(n),i=Pe(r);for(let E=0;E+4<=s.length;E+=4){let{s0:g,s1:A,s2:_,
s3:S}=mo(t,$e(c[0]),$e(c[1]),$e(c[2]),$e(c[3]));i[E+0]=s[E+0]^$e(g),i[E+1]=s[E+1]^$e(A),i[E+2]=s[E+2]^$e(_),i[E+3]=s[E+3]^$e(S);for(let U=Jn-1,N=1;U>=0;U--)N=N+
f[U]|0,f[U]=N&255,N>>>=8}let h=Jn*Math.floor(s.length/qc);if(h<o){let{s0:E,s1:g,s2:A,s3:_}=mo(t,$e(c[0]),$e(c[1]),$e(c[2]),$e(c[3])),S=new Uint32Array([E,g,A,_]);
Ze(S);let U=lo(S);for(let N=h,P=0;N<o;N++,P++)r[N]=n[N]^U[P];wt(S)}return r}var er=po({blockSize:16,nonceLength:16},function(e,n){function r(o,f){if(ye(o),f!==void 0&&(ye(f),!bt(f)))throw new Error("unaligned destination");let c=Zc(e),s=Ut(
n),i=[c,s];bt(o)||i.push(o=Ut(o));let h=Qc(c,s,o,f);return wt(...i),h}return{encrypt:(o,f)=>r(o,f),decrypt:(o,f)=>r(o,f)}});var tr=class{blockLen;key;nonce;state;reseedCnt;destroyed=!1;constructor(e,n,r){this.blockLen=er.blockSize;let o=e/8,f=16;this.state=new Uint8Array(o+f),this.key=
this.state.subarray(0,o),this.nonce=this.state.subarray(o,o+f),this.reseedCnt=1,Zn(this.nonce,!1,1),this.addEntropy(n,r)}update(e){if(er(this.key,this.nonce).encrypt(
new Uint8Array(this.state.length),this.state),e){ye(e);for(let n=0;n<e.length;n++)this.state[n]^=e[n]}Zn(this.nonce,!1,1)}addEntropy(e,n){if(this.destroyed)throw new Error(
"cannot use destroyed DRBG");ye(e,this.state.length,"seed");let r=e.slice();if(n){if(ye(n),n.length>r.length)throw new Error("info length is too big");for(let o=0;o<
n.length;o++)r[o]^=n[o]}this.update(r),r.fill(0),this.reseedCnt=1}randomBytes(e,n){if(this.destroyed)throw new Error("cannot use destroyed DRBG");if(Bt(e),e>2**
16)throw new Error("requested output is too big");if(this.reseedCnt>2**48)throw new Error("entropy exhausted");if(n){if(ye(n),n.length>this.state.length)throw new Error(
"info length is too big");this.update(n)}let r=new Uint8Array(e);return er(this.key,this.nonce).encrypt(r,r),Zn(this.nonce,!1,Math.ceil(e/this.blockLen)),this.update(
n),this.reseedCnt++,r}clean(){this.state.fill(0),this.reseedCnt=0,this.destroyed=!0}},es=t=>(e,n=void 0)=>new tr(t,e,n);var xo=es(256);var Ao=t=>Uint8Array.from(t.split(""),e=>e.charCodeAt(0)),ts=Ze(Pe(Ao("expand 16-byte k"))),ns=Ze(Pe(Ao("expand 32-byte k")));function ne(t,e){return t<<e|t>>>32-
e}var en=64,rs=16,rr=2**32-1,Eo=Uint32Array.of();function os(t,e,n,r,o,f,c,s){let i=o.length,h=new Uint8Array(en),E=Pe(h),g=rt&&bt(o)&&bt(f),A=g?Pe(o):Eo,_=g?Pe(
f):Eo;if(!rt){for(let S=0;S<i;c++){if(t(e,n,r,E,c,s),Ze(E),c>=rr)throw new Error("arx: counter overflow");let U=Math.min(en,i-S);for(let N=0,P;N<U;N++)P=S+N,f[P]=
o[P]^h[N];S+=U}return}for(let S=0;S<i;c++){if(t(e,n,r,E,c,s),c>=rr)throw new Error("arx: counter overflow");let U=Math.min(en,i-S);if(g&&U===en){let N=S/4;if(S%
4!==0)throw new Error("arx: invalid block position");for(let P=0,J;P<rs;P++)J=N+P,_[J]=A[J]^E[P];S+=en;continue}for(let N=0,P;N<U;N++)P=S+N,f[P]=o[P]^h[N];S+=U}}
function _o(t,e){let{allowShortKeys:n,extendNonceFn:r,counterLength:o,counterRight:f,rounds:c}=yo({allowShortKeys:!1,counterLength:8,counterRight:!1,rounds:20},
e);if(typeof t!="function")throw new Error("core must be a function");return Bt(o),Bt(c),Wn(f),Wn(n),(s,i,h,E,g=0)=>{ye(s,void 0,"key"),ye(i,void 0,"nonce"),ye(
h,void 0,"data");let A=h.length,_=E!==void 0;if(E=kn(A,E,!1),_&&Sn(h,E),Bt(g),g<0||g>=rr)throw new Error("arx: counter overflow");let S=[],U=s.length,N,P;if(U===
32)S.push(N=Ut(s)),P=ns;else if(U===16&&n)N=new Uint8Array(32),N.set(s),N.set(s,16),P=ts,S.push(N);else throw ye(s,32,"arx key"),new Error("invalid key size");(!rt||
!bt(i))&&S.push(i=Ut(i));let J=Pe(N);if(r){if(i.length!==24)throw new Error("arx: extended nonce must be 24 bytes");let C=i.subarray(0,16);if(rt)r(P,J,Pe(C),J);else{
let j=Ze(Uint32Array.from(P));r(j,J,Pe(C),J),wt(j),Ze(J)}i=i.subarray(16)}else rt||Ze(J);let I=16-o;if(I!==i.length)throw new Error(`arx: nonce must be ${I} or \
16 bytes`);if(I!==12){let C=new Uint8Array(12);C.set(i,f?0:12-i.length),i=C,S.push(i)}let F=Ze(Pe(i));try{return os(t,P,J,F,h,E,g,c),E}finally{wt(...S)}}}function fs(t,e,n,r,o,f=20){let c=t[0],s=t[1],i=t[2],h=t[3],E=e[0],g=e[1],A=e[2],_=e[3],S=e[4],U=e[5],N=e[6],P=e[7],J=o,I=n[0],F=n[1],C=n[2],j=c,H=s,K=i,v=h,q=E,
W=g,re=A,ue=_,me=S,pe=U,le=N,we=P,Se=J,xe=I,Ee=F,Ae=C;for(let je=0;je<f;je+=2)j=j+q|0,Se=ne(Se^j,16),me=me+Se|0,q=ne(q^me,12),j=j+q|0,Se=ne(Se^j,8),me=me+Se|0,q=
ne(q^me,7),H=H+W|0,xe=ne(xe^H,16),pe=pe+xe|0,W=ne(W^pe,12),H=H+W|0,xe=ne(xe^H,8),pe=pe+xe|0,W=ne(W^pe,7),K=K+re|0,Ee=ne(Ee^K,16),le=le+Ee|0,re=ne(re^le,12),K=K+
re|0,Ee=ne(Ee^K,8),le=le+Ee|0,re=ne(re^le,7),v=v+ue|0,Ae=ne(Ae^v,16),we=we+Ae|0,ue=ne(ue^we,12),v=v+ue|0,Ae=ne(Ae^v,8),we=we+Ae|0,ue=ne(ue^we,7),j=j+W|0,Ae=ne(Ae^
j,16),le=le+Ae|0,W=ne(W^le,12),j=j+W|0,Ae=ne(Ae^j,8),le=le+Ae|0,W=ne(W^le,7),H=H+re|0,Se=ne(Se^H,16),we=we+Se|0,re=ne(re^we,12),H=H+re|0,Se=ne(Se^H,8),we=we+Se|
0,re=ne(re^we,7),K=K+ue|0,xe=ne(xe^K,16),me=me+xe|0,ue=ne(ue^me,12),K=K+ue|0,xe=ne(xe^K,8),me=me+xe|0,ue=ne(ue^me,7),v=v+q|0,Ee=ne(Ee^v,16),pe=pe+Ee|0,q=ne(q^pe,
12),v=v+q|0,Ee=ne(Ee^v,8),pe=pe+Ee|0,q=ne(q^pe,7);let ae=0;r[ae++]=c+j|0,r[ae++]=s+H|0,r[ae++]=i+K|0,r[ae++]=h+v|0,r[ae++]=E+q|0,r[ae++]=g+W|0,r[ae++]=A+re|0,r[ae++]=
_+ue|0,r[ae++]=S+me|0,r[ae++]=U+pe|0,r[ae++]=N+le|0,r[ae++]=P+we|0,r[ae++]=J+Se|0,r[ae++]=I+xe|0,r[ae++]=F+Ee|0,r[ae++]=C+Ae|0}var To=_o(fs,{counterRight:!1,counterLength:4,allowShortKeys:!1});/*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) */var cs=(t,e,n)=>z(t,e,n),ss=Re;function or(t,e="object"){if(t===null||typeof t!="object"||Array.isArray(t))throw new TypeError(e==="object"?"expected valid options object":`"${e}" expected ob\
ject, got type=${typeof t}`);return t}var So=BigInt(0);var as=t=>t?`"${t}" `:"";function ko(t,e=""){if(typeof t!="boolean")throw new TypeError(as(e)+"expected boolean, got type="+typeof t);return t}function Oo(t){if(typeof t==
"bigint"){if(!ds(t))throw new RangeError("positive bigint expected, got "+t)}else ss(t);return t}function vo(t){let e=Oo(t).toString(16);return e.length&1?"0"+e:e}function Lo(t){if(typeof t!="string")throw new TypeError("hex string expected, got "+typeof t);
return t===""?So:BigInt("0x"+t)}function fr(t){return Lo(gt(t))}function Bo(t){return Lo(gt(is(z(t)).reverse()))}function Uo(t,e){if(Re(e),e===0)throw new Error(
"zero output length is invalid");t=Oo(t);let n=e*2,r=t.toString(16);if(r.length>n)throw new RangeError("number is too large");return Xt(r.padStart(n,"0"))}function is(t){return Uint8Array.from(cs(t))}function ds(t){return typeof t=="bigint"&&So<=t}function Io(t,e={},n={},r="object"){or(t,r),or(e,"fields"),or(n,"optFields");function o(c,s,i){let h=r==="object"?`param "${String(c)}"`:`"${r}.${String(c)}"`,E=t[c];
if(!Object.hasOwn(t,c)&&(i?E!==void 0:s!=="function"))throw new TypeError(`${h} is invalid: expected own property`);if(i&&E===void 0)return;let g=typeof E;if(g!==
s||E===null)throw new TypeError(`${h} is invalid: expected ${s}, got ${g}`)}let f=(c,s)=>Object.entries(c).forEach(([i,h])=>o(i,h,s));f(e,!1),f(n,!0)}/*! noble-curves - MIT License (c) 2022 Paul Miller (paulmillr.com) */var tn=BigInt(0),cr=BigInt(1);function Ro(t,e){if(e<=tn)throw new Error("mod: expected positive modulus, got "+e);let n=t%e;return n>=tn?n:e+n}function sr(t,e){if(t===tn)throw new Error("invert: expected non-zero number");if(e<=cr)throw new Error("invert: expected modulus > 1, got "+e);let n=Ro(t,e),r=e,
o=tn,f=cr;for(;n!==tn;){let s=r/n,i=r-n*s,h=o-f*s;r=n,n=i,o=f,f=h}if(r!==cr)throw new Error("invert: does not exist");return Ro(o,e)}function nn(t,e="n"){if(typeof t!="number")throw new TypeError(`wrong u32 integer "${e}": expected number, got type=${typeof t}`);if(!Number.isSafeInteger(t)||t<
0||t>4294967295)throw new RangeError(`wrong u32 integer "${e}": expected 0..4294967295, got ${t}`);return t}function Mo(t){return nn(t,"x"),(t&t-1)===0&&t!==0}function ar(t,e){if(nn(t),typeof e!="number")throw new TypeError('"bits" expected number, got type='+typeof e);if(!Number.isSafeInteger(e)||e<0||e>32)throw new Error(
`expected integer 0 <= bits <= 32, got ${e}`);let n=0;for(let r=0;r<e;r++,t>>>=1)n=n<<1|t&1;return n>>>0}function Fo(t){return nn(t),31-Math.clz32(t)}function No(t){
if(!t||typeof t!="object"||typeof t.length!="number")throw new TypeError('"values" expected array-like, got type='+typeof t);let e=t.length;if(!Mo(e))throw new Error(
"expected positive power-of-two length, got "+e);let n=Fo(e);for(let r=0;r<e;r++){let o=ar(r,n);if(r<o){let f=t[r];t[r]=t[o],t[o]=f}}return t}var jt=(t,e)=>{Io(e,{N:"number",roots:"object",dit:"boolean"},{invertButterflies:"boolean",skipStages:"number",brp:"boolean"},"coreOpts");let{N:n,roots:r,dit:o,
invertButterflies:f=!1,skipStages:c=0,brp:s=!0}=e;nn(n,"coreOpts.N");let i=Fo(n);if(!Mo(n))throw new Error("FFT: Polynomial size should be power of two");nn(c,"\
coreOpts.skipStages");let h=i===0?0:i-1;if(c>h)throw new Error(`FFT: wrong skipStages: expected 0 <= skipStages <= ${h}`);if(r.length!==n)throw new Error(`FFT: \
wrong roots length: expected ${n}, got ${r.length}`);let E=o!==f;return g=>{if(g.length!==n)throw new Error("FFT: wrong Polynomial length");o&&s&&No(g);for(let A=0,
_=1;A<i-c;A++){let S=o?A+1+c:i-A,U=1<<S,N=U>>1,P=n>>S;for(let J=0;J<n;J+=U)for(let I=0,F=_++;I<N;I++){let C=f?o?n-F:F:I*P,j=J+I,H=J+I+N,K=r[C],v=g[H],q=g[j];if(E){
let W=t.mul(v,K);g[j]=t.add(q,W),g[H]=t.sub(q,W)}else f?(g[j]=t.add(v,q),g[H]=t.mul(t.sub(v,q),K)):(g[j]=t.add(q,v),g[H]=t.mul(t.sub(q,v),K))}}return!o&&s&&No(g),
g}};/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var qe=z;var Dt=vt;function bs(t,e,n=()=>{}){if(!Array.isArray(t))throw new TypeError(`"${e}" expected array, got type=${typeof t}`);for(let r=0;r<t.length;r++)n(t[r],`${e}\
[${r}]`);return t}function us(t,e="object"){if(t===null||typeof t!="object"||Array.isArray(t))throw new TypeError(e==="object"?"expected valid options object":`\
"${e}" expected object, got type=${typeof t}`);return t}function rn(t,e){if(t=z(t),e=z(e),t.length!==e.length)return!1;let n=0;for(let r=0;r<t.length;r++)n|=t[r]^
e[r];return n===0}function Ke(t){return new Uint8Array(z(t))}function ls(t){let e=new Uint8Array(t.buffer,t.byteOffset,t.byteLength);for(let n=0;n<e.length;n+=8){
let r=e[n+0],o=e[n+1],f=e[n+2],c=e[n+3];e[n+0]=e[n+7],e[n+1]=e[n+6],e[n+2]=e[n+5],e[n+3]=e[n+4],e[n+4]=c,e[n+5]=f,e[n+6]=o,e[n+7]=r}return t}var ir=Vn?t=>t:ls;function hs(t){
if(Wt(t))throw new TypeError('"opts" expected object, got Uint8Array');us(t,"opts");let e=Object.getPrototypeOf(t);if(e!==null&&e!==Object.prototype)throw new TypeError(
'"opts" expected a plain object')}var ys=Object.freeze(["context"]),dr=Object.freeze(["context","extraEntropy"]);function vn(t,e){hs(t);let n=Object.assign(Object.
create(null),t);for(let[r,o]of Object.entries(n))if(o!==void 0&&!e.includes(r))throw new TypeError('unexpected option "'+String(r)+'"; expected one of: '+e.join(
", "));return Object.freeze(n)}function ut(t,e=ys){let n=vn(t,e);return n.context!==void 0&&z(n.context,void 0,"opts.context"),n}function ot(t,e=dr){let n=vn(t,
e);return n.context!==void 0&&z(n.context,void 0,"opts.context"),n.extraEntropy!==!1&&n.extraEntropy!==void 0&&z(n.extraEntropy,void 0,"opts.extraEntropy"),n}function Be(t,...e){
let n=o=>typeof o=="number"?o:o.bytesLen,r=e.reduce((o,f)=>o+n(f),0);return{bytesLen:r,encode:o=>{let f=new Uint8Array(r);for(let c=0,s=0;c<e.length;c++){let i=e[c],
h=n(i),E=typeof i=="number"?o[c]:i.encode(o[c]);z(E,h,t),f.set(E,s),typeof i!="number"&&E.fill(0),s+=h}return f},decode:o=>{z(o,r,t);let f=[];for(let c of e){let s=n(
c),i=o.subarray(0,s);f.push(typeof c=="number"?i:c.decode(i)),o=o.subarray(s)}return f}}}function ft(t,e){let n=t,r=e*n.bytesLen;return{bytesLen:r,encode:o=>{let f=bs(
o,"u");if(f.length!==e)throw new RangeError(`vecCoder.encode: wrong length=${f.length}. Expected: ${e}`);let c=new Uint8Array(r);for(let s=0,i=0;s<f.length;s++){
let h=n.encode(f[s]);c.set(h,i),h.fill(0),i+=h.length}return c},decode:o=>{z(o,r);let f=[];for(let c=0;c<o.length;c+=n.bytesLen)f.push(n.decode(o.subarray(c,c+n.
bytesLen)));return f}}}function V(...t){for(let e of t)if(Array.isArray(e))for(let n of e)n.fill(0);else e.fill(0)}function Qe(t){if(Re(t,"bits"),t>32)throw new RangeError(
'"bits" expected <= 32, got '+t);return t===32?4294967295:~(-1<<t)>>>0}var Co=Uint8Array.of();function $t(t,e=Co){if(z(t,void 0,"msg"),z(e,void 0,"ctx"),e.length>
255)throw new RangeError("context should be 255 bytes or less");return mt(new Uint8Array([0,e.length]),e,t)}var ps=Uint8Array.from([6,9,96,134,72,1,101,3,4,2]),
gs={"060960864801650304020b":32,"060960864801650304020c":64};function on(t,e=0){if(typeof t!="function"||typeof t.create!="function")throw new TypeError('"hash"\
 expected hash function, got type='+typeof t);An(t),Re(e,"requiredStrength");let n=t.oid;if(z(n,void 0,"hash.oid"),!rn(n.subarray(0,10),ps))throw new Error('"ha\
sh.oid" is invalid: expected NIST hash');let r=gs[gt(n)];if(r!==void 0&&t.outputLen!==r)throw new Error("Pre-hash XOF output length must be "+r+" bytes for this\
 OID, got: "+t.outputLen);let o=t.outputLen*8/2;if(e>o)throw new Error("Pre-hash security strength too low: "+o+", required: "+e)}function Kt(t,e,n=Co){if(on(t),
z(e,void 0,"msg"),z(n,void 0,"ctx"),n.length>255)throw new RangeError("context should be 255 bytes or less");let r=t(e);return mt(new Uint8Array([1,n.length]),n,
t.oid,r)}/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Ln=t=>{let{newPoly:e,N:n,Q:r,F:o,ROOT_OF_UNITY:f,brvBits:c,isKyber:s}=t,i=(I,F=r)=>{
let C=I%F|0;return(C>=0?C|0:F+C|0)|0},h=(I,F=r)=>{let C=i(I,F)|0;return(C>F>>1?C-F|0:C)|0};function E(){let I=e(n);for(let F=0;F<n;F++){let C=ar(F,c),j=BigInt(f)**
BigInt(C)%BigInt(r);I[F]=Number(j)|0}return I}let g=E(),A=I=>{throw new Error("not implemented")},_=s?{add:(I,F)=>{let C=I+F|0;return C>=r?C-r|0:C},sub:(I,F)=>{
let C=I-F|0;return C<0?C+r|0:C},mul:(I,F)=>i((I|0)*(F|0))|0,inv:A}:{add:(I,F)=>i((I|0)+(F|0))|0,sub:(I,F)=>i((I|0)-(F|0))|0,mul:(I,F)=>i((I|0)*(F|0))|0,inv:A},S={
N:n,roots:g,invertButterflies:!0,skipStages:s?1:0,brp:!1},U=jt(_,{dit:!1,...S}),N=jt(_,{dit:!0,...S}),P={encode:I=>U(I),decode:I=>{N(I);for(let F=0;F<I.length;F++)
I[F]=i(o*I[F]);return I}};return{mod:i,smod:h,nttZetas:g,NTT:{encode:I=>P.encode(I),decode:I=>P.decode(I)},bitsCoder:(I,F)=>{for(let H=0,K=0;H<n;H++)K+=I,K>32&&
Qe(K),K%=8;let C=Qe(I),j=I*(n/8);return{bytesLen:j,encode:H=>{let K=H,v=new Uint8Array(j);for(let q=0,W=0,re=0,ue=0;q<K.length;q++)for(W|=(F.encode(K[q])&C)<<re,
re+=I;re>=8;re-=8,W>>=8)v[ue++]=W&255;return v},decode:H=>{let K=e(n);for(let v=0,q=0,W=0,re=0;v<H.length;v++)for(q|=H[v]<<W,W+=8;W>=I;W-=I,q>>=I)K[re++]=F.decode(
q&C);return K}}}}},Ho=t=>(e,n)=>{n||(n=t.blockLen);let r=new Uint8Array(e.length+2);r.set(e);let o=e.length,f=new Uint8Array(n),c=t.create({}),s=0,i=0;return{stats:()=>({
calls:s,xofs:i}),get:(h,E)=>(r[o+0]=h,r[o+1]=E,c.destroy(),c=t.create({}).update(r),s++,()=>(i++,c.xofInto(f))),clean:()=>{c.destroy(),V(f,r)}}},Po=Ho(bo),jo=Ho(
Le);/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Do=(t,e,n,r)=>{let o=Qe(n),f=n*(e/8);return{bytesLen:f,encode:c=>{if(c.length!==
e)throw new Error(`wrong length: expected ${e}, got ${c.length}`);let s=new Uint8Array(f);for(let i=0,h=0,E=0,g=0;i<c.length;i++)for(h=h<<n|r.encode(c[i])&o,E+=
n;E>=8;E-=8)s[g++]=h>>>E-8&255;return s},decode:c=>{let s=t(e);for(let i=0,h=0,E=0,g=0;i<c.length;i++)for(h=h<<8|c[i],E+=8;E>=n;E-=n)s[g++]=r.decode(h>>>E-n&o);
return s}}},zt=(t,e)=>{let n=e;return{bytesLen:1+n.bytesLen,encode(r){let o=n.encode(r),f=new Uint8Array(1+o.length);return f[0]=t,f.set(o,1),V(o),f},decode(r){
if(r[0]!==t)throw new Error(`wrong tag: expected ${t}, got 0x${r[0]}`);return n.decode(r.subarray(1))}}},qt=t=>({encode(n){if(n.length!==t)throw new Error("wron\
g length");let r=[],o=0,f=0,c=(s,i)=>{for(f+=s,o=o<<s|i;f>=8;o&=Qe(f))f-=8,r.push(o>>>f&255)};for(let s=0;s<t;s++){let i=n[s];if(!Number.isInteger(i)||i<-2047||
i>2047)throw new Error(`data[${s}]=${i} out of range`);let h=i<0?1:0;i=Math.abs(i),c(1,h),c(7,i&127),c((i>>>7)+1,1)}return f>0&&r.push(o<<8-f&255),new Uint8Array(
r)},decode(n){let r=new Int16Array(t),o=0,f=0,c=0,s=i=>{for(;f<i&&c<n.length;f+=8)o=o<<8|n[c++];if(f<i)throw new Error(`end of buffer: len=${f} buf=${o} lastByt\
e=${n[c]}`);f-=i;let h=o>>>f;return o&=Qe(f),h};for(let i=0;i<t;i++){let h=s(1),E=s(7),g=0;for(;!s(1);)if(g++,g>15)throw new Error(`limit: ${E|g<<7} > 2047`);let A=E|
g<<7;if(h&&A===0)throw new Error("negative zero encoding");if(A>2047)throw new Error(`limit: ${A} > 2047`);r[i]=h?-A:A}if(o)throw new Error("non-empty accumulat\
or");return r}}),$o=t=>({encode(e){let n=new Uint8Array(t);return n.set(e),n},decode(e){let n=e.length;for(;n>0&&e[n-1]===0;)n--;return e.subarray(0,n)}}),br=(...t)=>{
for(let e of t)for(let n=0;n<e.length;n++)e[n].re=0,e[n].im=0};function ms(t){let e=t;return{lift:n=>n.re!==void 0&&n.im!==void 0?n:{re:n,im:e.ZERO},add:(n,r)=>({
re:e.add(n.re,r.re),im:e.add(n.im,r.im)}),sub:(n,r)=>({re:e.sub(n.re,r.re),im:e.sub(n.im,r.im)}),mul:(n,r)=>({re:e.sub(e.mul(n.re,r.re),e.mul(n.im,r.im)),im:e.add(
e.mul(n.re,r.im),e.mul(n.im,r.re))}),div:(n,r)=>{let o=e.add(e.mul(r.re,r.re),e.mul(r.im,r.im));return{re:e.div(e.add(e.mul(n.re,r.re),e.mul(n.im,r.im)),o),im:e.
div(e.sub(e.mul(n.im,r.re),e.mul(n.re,r.im)),o)}},neg:n=>({re:e.neg(n.re),im:e.neg(n.im)}),conj:n=>({re:n.re,im:e.neg(n.im)}),scale:(n,r)=>({re:e.mul(n.re,r),im:e.
mul(n.im,r)}),magSqSum:(n,r)=>e.add(e.add(e.add(e.mul(n.re,n.re),e.mul(n.im,n.im)),e.mul(r.re,r.re)),e.mul(r.im,r.im)),eql:(n,r)=>e.eql(n.re,r.re)&&e.eql(n.im,r.
im),clone:n=>({re:n.re,im:n.im}),inv:()=>{throw new Error("not implemented")}}}var ur={decode(t){let n=t.length>>1,r=t.length;if(r===0)return[];if(r%2!==0)throw new Error(
"Array length must be even to pair real and imaginary parts.");let o=[];for(let f=0;f<n;f++)o.push({re:t[f],im:t[f+n]});return o},encode(t){let e=[],n=[];for(let r of t)
e.push(r.re),n.push(r.im);return[...e,...n]}},ws={decode(t){let e=t.length;if(e===0)return[];if(e%2!==0)throw new Error("Array length must be even to pair real \
and imaginary parts.");let n=[];for(let r=0;r<e;r+=2)n.push({re:t[r],im:t[r+1]});return n},encode(t){let e=[];for(let n of t)e.push(n.re),e.push(n.im);return e}},
xs=t=>new Uint8Array(t.buffer,t.byteOffset,t.byteLength),Es=t=>new Float64Array(ir(Uint8Array.from(t.subarray(0,Math.floor(t.byteLength/8)*8))).buffer),As=Object.
freeze({encode(t){let e=new Uint8Array(8);return new DataView(e.buffer,e.byteOffset,e.byteLength).setFloat64(0,t,!1),gt(e)},decode(t){let e=Xt(t);return new DataView(
e.buffer,e.byteOffset,e.byteLength).getFloat64(0,!1)}}),_e=t=>As.decode(vo(t)),_s=new Uint8Array(64),Ne=40,Ve=12289,Ts=Ve>>1,pr=BigInt(Ve),ct=BigInt(0),lr=BigInt(
1),Ko=BigInt(10),Ss=BigInt(25),hr=BigInt(31),ks=BigInt(32),Os=BigInt(63),vs=BigInt(64),Ls=BigInt("0xffffffff"),zo=BigInt("0x7fffffffffffffff"),Go=10952,Bs=12287,
Yo=1/Ve,Us=-Yo,Is=[1,1,2,2,4,7,14,27,53,106,209],Rs=[2,2,5,7,12,21,40,78,157,308],Ns=_e(BigInt("4670353323383631276")),Bn=[{avg:4,std:0},{avg:11,std:1},{avg:24,
std:1},{avg:50,std:1},{avg:102,std:1},{avg:202,std:2},{avg:401,std:4},{avg:794,std:5},{avg:1577,std:8},{avg:3138,std:13},{avg:6308,std:25}],yr=["128386877040064\
3928","6416574995475331444","4078260278032692663","2353523259288686585","1227179971273316331","575931623374121527","242543240509105209","91437049221049666","307\
99446349977173","9255276791179340","2478152334826140","590642893610164","125206034929641","23590435911403","3948334035941","586753615614","77391054539","9056793\
210","940121950","86539696","7062824","510971","32764","1862","94","4","0"].map(BigInt),Ms=Object.freeze([0,_e(BigInt("4574611497772390042")),_e(BigInt("4574501\
679055810265")),_e(BigInt("4574396282908341804")),_e(BigInt("4574245855758572086")),_e(BigInt("4574103865040221165")),_e(BigInt("4573969550563515544")),_e(BigInt(
"4573842244705920822")),_e(BigInt("4573721358406441454")),_e(BigInt("4573606369665796042")),_e(BigInt("4573496814039276259"))]),qo=Object.freeze([0,_e(BigInt("4\
607707126469777035")),_e(BigInt("4607777455861499430")),_e(BigInt("4607846828256951418")),_e(BigInt("4607949175006100261")),_e(BigInt("4608049571757433526")),_e(
BigInt("4608148125896792003")),_e(BigInt("4608244935301382692")),_e(BigInt("4608340089478362016")),_e(BigInt("4608433670533905013")),_e(BigInt("4608525754002622\
308"))]),Fs=1.8205,Un=new Uint32Array([10745844,3068844,3741698,5559083,1580863,8248194,2260429,13669192,2736639,708981,4421575,10046180,169348,7122675,4136815,
30538,13063405,7650655,4132,14505003,7826148,417,16768101,11363290,31,8444042,8086568,1,12844466,265321,0,1232676,13644283,0,38047,9111839,0,870,6138264,0,14,12545723,
0,0,3104126,0,0,28824,0,0,198,0,0,1]),Wo=[0,101498,208714,428865,892039,1852696,3842630,7959734,16468416,34034726,70265242],Cs=(()=>{let t=Es(Xt("00000000000000\
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
3f719ca1ead18ee63f719ca1ead18ee6bf9ce22fed5cb2e63fbaa4ccbef821693f021d6221f6ffef3f021d6221f6ffefbfbaa4ccbef821693f")),e=xs(ir(Float64Array.from(t)));if(gt(Le(e))!==
"f45a496cf56ccc6e3e3395a20209206d81d71a7905a661447bd5bc0e24e0af1e")throw new Error("COMPLEX_ROOTS mismatch");return t})(),fn={mul(t,e){let n=Math.imul(t,e),r=Math.
imul(Ve,Math.imul(n,Bs)&65535);return n=(n+r>>>16)-Ve,n+=Ve&n>>31,n>>>0},inv(t){if(t===0)throw new Error("divison by zero");let e=this.mul(t,Go),n=this.mul(e,e),
r=this.mul(n,e),o=this.mul(r,n),f=this.mul(o,o),c=this.mul(f,f),s=this.mul(c,c),i=this.mul(s,s),h=this.mul(i,i),E=this.mul(h,r),g=this.mul(E,h),A=this.mul(g,g),
_=this.mul(A,A),S=this.mul(_,E),U=this.mul(S,S),N=this.mul(U,U),P=this.mul(N,g),J=this.mul(P,P);return this.mul(J,e)},div:(t,e)=>fn.mul(t,fn.inv(e))};function Hs(t){
let e=1<<t,n=g=>new Uint16Array(g),r=Number(sr(BigInt(e),pr)),{mod:o,smod:f,NTT:c}=Ln({N:e,Q:Ve,F:r,ROOT_OF_UNITY:7,newPoly:n,isKyber:!1,brvBits:10});return{newPoly:n,
intPoly:{create:n,smallSqnorm(g){let A=0,_=0;for(let S=0;S<e;S++){let U=g[S];A=A+U*U>>>0,_|=A}return(A|-(_>>>31))>>>0},isShort(g,A){let _=0,S=0;for(let U=0;U<e;U++){
let N=g[U]<<16>>16;_=_+(N*N>>>0)>>>0,S|=_;let P=A[U]<<16>>16;_=_+(P*P>>>0)>>>0,S|=_}return S&2147483648&&(_=4294967295),_<=Wo[t]},sub(g,A){for(let _=0;_<e;_++)g[_]=
o(g[_]-A[_]);return g},ntt:g=>c.encode(g),intt:g=>c.decode(g),toMontgomery(g){for(let A=0;A<e;A++)g[A]=fn.mul(g[A],Go);return g},mul(g,A){for(let _=0;_<e;_++)g[_]=
fn.mul(g[_],A[_]);return g},div(g,A){for(let _=0;_<e;_++)g[_]=fn.div(g[_],A[_]);return this.intt(g),g}},signedCoder:{encode:g=>Int16Array.from(g,A=>f(A)),decode:g=>Uint16Array.
from(g,A=>o(A))}}}var X=ms({ZERO:0,ONE:1,add:(t,e)=>t+e,sub:(t,e)=>t-e,mul:(t,e)=>t*e,div:(t,e)=>t/e,eql:(t,e)=>t===e,inv:t=>1/t,neg:t=>-t}),cn=ws.decode(Cs),Xo={},
Jo={};for(let t=0;t<10;t++){let e=new Array(1<<t),n=new Array(1<<t);for(let r=0,o=1,f=1;r<t;r++){let c=1<<r;for(let i=0;i<c;i++)e[o++]=cn[(c<<1)+i];let s=1<<t-r;
for(let i=0;i<s>>1;i++)n[e.length-f++]=X.neg(X.conj(cn[s+i]))}Xo[t]=e,Jo[t]=n}function Vo(t){let n=1<<t>>1,r=Math.log2(n),o={N:n,invertButterflies:!0,skipStages:0,
brp:!1},f=1/n;return{to:c=>ur.decode(Array.from(c)),from:c=>new Float64Array(ur.encode(c)),convSmall:c=>ur.decode(Array.from(c)),add:(c,s)=>c.map((i,h)=>X.add(i,
s[h])),sub:(c,s)=>c.map((i,h)=>X.sub(i,s[h])),neg:c=>c.map(s=>X.neg(s)),mul:(c,s)=>c.map((i,h)=>X.mul(i,s[h])),conj:c=>c.map(s=>X.conj(s)),mulConst:(c,s)=>c.map(
i=>X.scale(i,s)),scaleNorm:(c,s)=>c.map((i,h)=>X.scale(i,s[h])),invNorm:(c,s)=>new Float64Array(c.map((i,h)=>1/X.magSqSum(i,s[h]))),FFT:c=>jt(X,{...o,dit:!1,roots:Xo[r]})(
c),iFFT(c){jt(X,{...o,dit:!0,roots:Jo[r]})(c);for(let s=0;s<c.length;s++)c[s]=X.scale(c[s],f);return c}}}function Ps(t,e,n,r){e=e.slice(),n=n.slice(),r=r.slice();
let o=1<<t-1;for(let f=0;f<o;f++){let c=n[f],s=r[f],i=X.scale(c,1/e[f].re);r[f]={re:s.re-(i.re*c.re+i.im*c.im),im:s.im},n[f]=X.conj(i)}return{g00:e,g01:n,g11:r}}
function js(t,e){let n=[.9999999999999949,.5000000000000192,.16666666666698401,.04166666666611049,.008333333327800835,.001388888894063187,.0001984127392773119,2480156683358538e-20,
27555863502191225e-22,2756073561604778e-22,2529950637944207e-23,2073772366009083e-24],r=-t,o=n[n.length-1];for(let f=n.length-2;f>=0;f--)o=o*r+n[f];return e*(1+
o*r)}function Ds(t){let{N:e}=t,n=Math.log2(e),r=x=>x,{newPoly:o,intPoly:f,signedCoder:c}=Hs(n),s=Vo(n);class i{logn;shake;constructor(u,a){this.logn=u,this.shake=
Le.create().update(a)}gaussSingle(){let u=1<<10-this.logn,a=0;for(let d=0;d<u;d++){let b=Bo(this.shake.xof(16)),l=b&zo,y=b>>vs&zo,p=Number(b>>Os&lr),w=l<yr[0]?1:
0,m=0;for(let T=1;T<yr.length;T++){let L=y>=yr[T]?1:0;m|=T&-(L&(w^1)),w|=L}a+=p===1?-m:m}return a}polyGauss(){let u=1<<this.logn,a=0,d=new Int8Array(u);for(let b=0;b<
u;b++){let l;for(;l=this.gaussSingle(),!(!(l<-127||l>127)&&!(b===u-1&&(a^l&1)===0)););b<u-1&&(a^=l&1),d[b]=l}return d}galoisNorm(u,a){let d=1<<u,b=new Array(d>>
1);for(let l=0;l<d;l+=2){let y=ct;for(let p=0;p<=l;p+=2)y+=a[p]*a[l-p];for(let p=l+2;p<d;p+=2)y-=a[p]*a[l+d-p];b[l>>>1]=y}for(let l=0;l<d;l+=2){let y=ct;for(let p=1;p<
l;p+=2)y+=a[p]*a[l-p];for(let p=l+1;p<d;p+=2)y-=a[p]*a[l+d-p];b[l>>>1]-=y}return b}mulConjD(u,a,d,b){let l=1<<u;for(let y=0;y<l;y++){let p=ct;for(let w=0;w<=y;w+=
2)p+=b[w>>>1]*d[y-w];for(let w=y+2-(y&1);w<l;w+=2)p-=b[w>>>1]*d[y+l-w];(y&1)===0?a[y]=p:a[y]=-p}return a}subMul(u,a,d,b,l){let y=1<<u;for(let p=0;p<y;p++){let w=ct;
for(let m=0;m<=p;m++)w+=d[m]*b[p-m];for(let m=p+1;m<y;m++)w-=d[m]*b[p+y-m];a[p]-=w<<l}return a}reduce(u,a,d,b,l,y){let p=1<<u,w=y-u,m=Vo(u),T=Is[w],L=Rs[w],O=BigInt(
31*L),R=BigInt(L),D=BigInt(31*(T-10)),M=Bn[w].avg+6*Bn[w].std,B=Bn[w].avg-6*Bn[w].std,Z=BigInt(Math.round(31*L-B)),$=new Float64Array(p),G=new Float64Array(p);for(let te=0;te<
p;te++)$[te]=Number(a[te]>>D),G[te]=Number(d[te]>>D);let Y=m.conj(m.FFT(m.to($))),oe=m.conj(m.FFT(m.to(G))),he=m.invNorm(Y,oe),de=new Float64Array(p),ie=new Float64Array(
p),Q=new Array(p);for(;;){let te=hr*(R-Ko);for(let Ue=0;Ue<p;Ue++)de[Ue]=Number(b[Ue]>>te),ie[Ue]=Number(l[Ue]>>te);let ce=m.mul(m.FFT(m.to(ie)),oe),ke=m.mul(m.
FFT(m.to(de)),Y),ee=m.from(m.iFFT(m.scaleNorm(m.add(ce,ke),he))),ge=2**Number(te-D-Z);for(let Ue=0;Ue<p;Ue++){let ht=ee[Ue]*ge;if(ht<=-2147483647||ht>=2147483647)
return!1;Q[Ue]=BigInt(Math.round(ht))}b=this.subMul(u,b,a,Q,Z),l=this.subMul(u,l,d,Q,Z);let Ie=Z+BigInt(Math.round(M))+Ko;if(Ie<O&&(O=Ie),R>lr&&R*hr>=O+hr&&R--,
Z<=ct)break;Z-=Ss,Z<ct&&(Z=ct)}return!0}solveBranch(u,a,d,b,l,y){if(u===0){let R=a[0],D=d[0];if(R<=ct||D<=ct)return!1;try{let M=sr(R,D),B=(lr-M*R)/D;return b[0]=
-B*pr,l[0]=M*pr,!0}catch{return!1}}y===void 0&&(y=u);let p=1<<u,w=p>>>1;if(!a||a.length<p||!d||d.length<p)return!1;let m=this.galoisNorm(u,a),T=this.galoisNorm(
u,d),L=new Array(w),O=new Array(w);return this.solveBranch(u-1,m,T,L,O,y)?(b=this.mulConjD(u,b,d,L),l=this.mulConjD(u,l,a,O),this.reduce(u,a,d,b,l,y)):!1}solve(u,a){
let d=1<<n,b=Array.from(u).map(BigInt),l=Array.from(a).map(BigInt),y=new Array(d),p=new Array(d);if(!this.solveBranch(n,b,l,y,p))return!1;let w=new Int8Array(d),
m=new Int8Array(d);for(let T=0;T<d;T++){let L=y[T],O=p[T];if(L<-127||L>127||O<-127||O>127)return!1;w[T]=Number(L),m[T]=Number(O)}return[w,m]}generate(){let u=1e6,
a=0;for(;;){if(a++===u)throw new Error("can't generate key");let d=this.polyGauss(),b=this.polyGauss(),l=1<<t.fgBits-1;for(let M=0;M<e;M++)if(d[M]>=l||d[M]<=-l||
b[M]>=l||b[M]<=-l){l=-1;break}if(l<0)continue;let y=f.smallSqnorm(d),p=f.smallSqnorm(b);if((y+p|-((y|p)>>>31))>=16823)continue;let m=s.FFT(s.convSmall(d)),T=s.FFT(
s.convSmall(b)),L=s.invNorm(m,T);m=s.iFFT(s.scaleNorm(s.mulConst(s.conj(m),Ve),L)),T=s.iFFT(s.scaleNorm(s.mulConst(s.conj(T),Ve),L));let O=0;for(let M=0;M<m.length;M++)
O+=m[M].re*m[M].re,O+=T[M].re*T[M].re;for(let M=0;M<m.length;M++)O+=m[M].im*m[M].im,O+=T[M].im*T[M].im;if(!(O<Ns))continue;let R;try{R=H(d,b)}catch{continue}let D=this.
solve(d,b);if(D!==!1)return[d,b,D[0],D[1],R]}}}let h=()=>{let x=Do(o,e,14,{encode:r,decode:r});return{bytesLen:x.bytesLen,encode(u){for(let a=0;a<u.length;a++)if(u[a]>=
12289)throw new Error("public key coeff out of range");return x.encode(u)},decode(u){if(u.length!==x.bytesLen)throw new Error("wrong public key length");let a=x.
decode(u);for(let b=0;b<a.length;b++)if(a[b]>=12289)throw new Error("public key coeff out of range");let d=x.encode(a);if(d.length!==u.length)throw new Error("w\
rong public key length");for(let b=0;b<u.length;b++)if(u[b]!==d[b])throw new Error("wrong public key encoding");return a}}},E=x=>{let u=32-x,a=Do(d=>new Int8Array(
d),e,x,{encode:d=>d&(1<<x)-1,decode:d=>(d&Qe(x))<<u>>u});return{bytesLen:a.bytesLen,encode(d){let b=(1<<x-1)-1,l=-b;for(let y=0;y<d.length;y++)if(d[y]<l||d[y]>b)
throw new Error("private key coeff out of range");return a.encode(d)},decode(d){let b=a.decode(d),l=-(1<<x-1);for(let y=0;y<b.length;y++)if(b[y]===l)throw new Error(
"forbidden private key coeff");return b}}},g=E(t.fgBits),A=E(t.FGBits),_=zt(80+n,Be("falcon.secretKey",g,g,A)),S=zt(0+n,h()),U=x=>{let u=qt(e).encode(qt(e).decode(
x));for(let a=u.length;a<x.length;a++)if(x[a]!==0)throw new Error("non-zero padding");return u},N=x=>{if(qt(e).encode(qt(e).decode(x)).length!==x.length)throw new Error(
"wrong signature length");return x},P=t.padded?U:N,J=x=>{let u=32+x;return{encode({msg:a,nonce:d,s2:b}){let l=b,y=1+l.length,p=2+Ne+a.length+y,w=new Uint8Array(
p),m=0;return w[m++]=y>>8&255,w[m++]=y&255,w.set(d,m),m+=Ne,w.set(a,m),m+=a.length,w[m++]=u,w.set(l,m),w},decode(a){if(!a||a.length<Ne+3)throw new Error("signat\
ure coder: wrong length");let b=(a[0]<<8|a[1])-1,l=a.length-Ne-3-b;if(l<0)throw new Error("signature coder: wrong msg length");if(a[2+Ne+l]!==u)throw new Error(
"signature coder: wrong type byte");let p=a.subarray(2,2+Ne),w=a.subarray(2+Ne,2+Ne+l),m=N(a.subarray(2+Ne+l+1));if(m.length!==b)throw new Error("signature code\
r: wrong s2 length");return{msg:w,nonce:p,s2:m}}}},I=x=>{let u=t.paddedLen;return{encode({msg:a,nonce:d,s2:b}){return zt(48+x,Be("falcon.signature",Ne,u,a.length)).
encode([d,$o(u).encode(b),a])},decode(a){z(a,void 0,"signature");let d=a.length-Ne-u-1;if(d<0)throw new Error("signature coder: wrong length");let[b,l,y]=zt(48+
x,Be("falcon.signature",Ne,u,d)).decode(a);return{nonce:b,s2:P(l),msg:y}}}},F=x=>{let u=t.sigLen-1-Ne,a=d=>t.padded?u:d.length;return{encode({nonce:d,s2:b}){return zt(
48+x,Be("falcon.detachedSignature",Ne,a(b))).encode([d,t.padded?$o(u).encode(b):b])},decode(d){if(!t.padded&&d.length>1+Ne+t.maxS2Len)throw new Error("detached \
signature too long");let b=t.padded?u:d.length-Ne-1,[l,y]=zt(48+x,Be("falcon.detachedSignature",Ne,b)).decode(d),p=P(y);return{nonce:l,s2:p}}}},C=(t.padded?I:J)(
n),j=x=>{let u=f.ntt(c.decode(x));for(let a=0;a<e;a++)if(u[a]===0)throw new Error("invalid secretKey: non-invertible f");return u};function H(x,u){let a=j(x),d=f.
ntt(c.decode(u)),b=f.div(d,a);return V(a),b}function K(x,u,a){let d=f.toMontgomery(f.ntt(c.decode(u))),b=f.ntt(c.decode(a)),l=j(x);d=f.div(f.mul(d,b),l);let y=new Int8Array(
e);for(let p=0;p<e;p++){let w=d[p];w-=Ve&~-(w-Ts>>>31);let m=w|0;if(m<-127||m>127)throw V(d,b,l,y),new Error("Coefficient out of bounds");y[p]=m}return V(d,b,l),
y}function v(x,u){let a=Le.create().update(x).update(u),d=new Uint16Array(e),b=5*Ve;for(let l=0;l<e;){let y=a.xof(2),p=y[0]<<8|y[1];p<b&&(d[l++]=p%Ve)}return d}
class q{logn;shake;shakeBuf;ctrView;ctr=ct;buf;buf32;pos;key;nonce32;curBlock;curBlock32;view;b01;b11;g00;g01;g11;constructor(u,a,d,b,l,y){this.logn=u,this.shake=
Le.create().update(a),this.shakeBuf=new Uint8Array(56),this.key=this.shakeBuf.subarray(0,32),this.nonce32=Ot(this.shakeBuf.subarray(32,48)),this.ctrView=dt(this.
shakeBuf.subarray(48,56)),this.curBlock=new Uint8Array(64),this.curBlock32=Ot(this.curBlock),this.buf=new Uint8Array(8*this.curBlock.length),this.buf32=Ot(this.
buf),this.pos=this.buf.length,this.view=dt(this.buf),this.b01=b,this.b11=y;let{g00:p,g01:w,g11:m}=this.gramFFT(d,l);this.g00=p,this.g01=w,this.g11=m}destroy(){this.
shake.destroy(),V(this.shakeBuf,this.curBlock,this.buf),br(this.b01,this.b11,this.g00,this.g01,this.g11)}refill(u){if(this.buf.length-this.pos>=u)return;let a=nt(
this.buf32);for(let d=0;d<8;d++,this.ctr++){let b=nt(this.nonce32.slice());b[2]^=Number(this.ctr&Ls),b[3]^=Number(this.ctr>>ks),nt(b.subarray(1)),To(this.key,to(
b.subarray(1)),_s,this.curBlock,b[0]);let l=nt(this.curBlock32);for(let y=0;y<16;y++)a[d+y*8]=l[y];nt(l)}nt(a),this.pos=0}gaussian0(){this.refill(9);let u=this.
view.getUint32(this.pos,!0),a=this.view.getUint32(this.pos+4,!0),d=this.buf[this.pos+8];this.pos+=9;let b=u&16777215,l=u>>>24&255|(a&65535)<<8,y=a>>>16&65535|d<<
16,p=0;for(let w=0;w<Un.length;w+=3){let m=b-Un[w+2]>>>31;m=(l-Un[w+1]|0)-m>>>31,m=(y-Un[w+0]|0)-m>>>31,p+=m}return p}berExp(u,a){let d=Math.trunc(u*1.4426950408889634),
b=u-d*.6931471805599453,l=js(b,a);l*=2147483648;let y=l|0;l=(l-y)*4294967296;let p=l|0;y=y<<1|p>>>31,p<<=1,d=(d|63-d>>>26)&63;let w=-(d>>>5)|0;p^=w&(p^y),y&=~w,
d&=31,p=p>>>d|y<<31-d<<1,y>>>=d;for(let m=0;m<2;m++){for(let T=24;T>=0;T-=8){this.refill(1);let L=this.buf[this.pos++],O=y>>>T&255;if(L!==O)return L<O}y=p}return!1}samplerZ(u,a){
let d=Math.floor(u),b=u-d,l=a*a*.5,y=a*qo[this.logn];for(;;){let p=this.gaussian0();this.refill(1);let w=this.buf[this.pos++]&1,m=((p<<1)+1&-w)-p,T=m-b;if(T=T*T*
l-p*p*.15086504887537272,this.berExp(T,y))return d+m}}splitFFT(u,a){let d=1<<u-1,b=d>>1;if(u===1)return{f0:[{re:a[0].re,im:0}],f1:[{re:a[0].im,im:0}]};let l=new Array(
b),y=new Array(b),p=a;for(let w=0;w<b;w++){let m=p[(w<<1)+0],T=p[(w<<1)+1];l[w]=X.scale(X.add(m,T),.5),y[w]=X.scale(X.mul(X.sub(m,T),X.conj(cn[w+d])),.5)}return{
f0:l,f1:y}}splitSelfAdjFFT(u,a){let d=1<<u-1,b=d>>1;if(u===1)return{f0:[{re:a[0].re,im:0}],f1:[{re:0,im:0}]};let l=new Array(b),y=new Array(b),p=a;for(let w=0;w<
b;w++){let m=p[(w<<1)+0],T=p[(w<<1)+1];l[w]=X.scale(X.add(m,T),.5),y[w]=X.scale(X.scale(X.conj(cn[w+d]),X.sub(m,T).re),.5)}return{f0:l,f1:y}}mergeFFT(u,a,d){let b=1<<
u-1,l=b>>1;if(u===1)return[{re:a[0].re,im:d[0].re}];let y=new Array(2*l);for(let p=0;p<l;p++){let w=a[p],m=X.mul(d[p],cn[p+b]);y[(p<<1)+0]=X.add(w,m),y[(p<<1)+1]=
X.sub(w,m)}return y}gramFFT(u,a){let{b01:d,b11:b}=this,l=1<<this.logn>>1,y=new Array(l),p=new Array(l),w=new Array(l);for(let m=0;m<l;m++){let T=u[m],L=d[m],O=a[m],
R=b[m],D=X.mul(T,X.conj(O)),M=X.mul(L,X.conj(R));y[m]={re:X.magSqSum(T,L),im:0},p[m]=X.add(D,M),w[m]={re:X.magSqSum(O,R),im:0}}return{g00:y,g01:p,g11:w}}ffsampRec(u,a,d,b,l,y){
if(u===0){let Q=Math.sqrt(b[0].re)*Ms[this.logn],te=1/Q;if(!(te>=qo[this.logn]&&te<=Fs))throw new Error("invalid secretKey: sampler sigma out of range");let ce=this.
samplerZ(a[0].re,Q),ke=this.samplerZ(d[0].re,Q);return{t0:[{re:ce,im:0}],t1:[{re:ke,im:0}]}}let{g00:p,g01:w,g11:m}=Ps(u,b,l,y),{f0:T,f1:L}=this.splitSelfAdjFFT(
u,p),{f0:O,f1:R}=this.splitSelfAdjFFT(u,m),{f0:D,f1:M}=this.splitFFT(u,d),{t0:B,t1:Z}=this.ffsampRec(u-1,D,M,O,R,O),$=this.mergeFFT(u,B,Z),G=s.add(a,s.mul(w,s.sub(
d,$))),{f0:Y,f1:oe}=this.splitFFT(u,G),{t0:he,t1:de}=this.ffsampRec(u-1,Y,oe,T,L,T);return{t0:this.mergeFFT(u,he,de),t1:$}}sample(u){let a=s.FFT(s.convSmall(u)),
d=s.mulConst(s.mul(a,this.b11),Yo),b=s.mulConst(s.mul(a,this.b01),Us);return this.shake.xofInto(this.shakeBuf),this.ctr=this.ctrView.getBigUint64(0,!0),this.ffsampRec(
this.logn,d,b,this.g00,this.g01,this.g11)}}let W=(x,u,a,d=vt)=>{z(u,void 0,"msg"),z(x,_.bytesLen,"secretKey");let b=d(40);z(b,40,"nonce");let l=v(b,u),y=d(48);z(
y,48,"seed");try{let[p,w,m]=_.decode(x);try{let T=K(p,w,m),L=s.FFT(s.convSmall(w)),O=s.FFT(s.neg(s.convSmall(p))),R=s.FFT(s.convSmall(T)),D=s.FFT(s.neg(s.convSmall(
m))),M=new q(n,y,L,O,R,D),B=new Int16Array(e);try{for(;;){let{t0:Z,t1:$}=M.sample(l),G=s.add(s.mul(Z,L),s.mul($,R)),Y=s.mul(Z,O),oe=s.iFFT(G),he=s.iFFT(s.add(s.
mul($,D),Y)),de=e>>1,ie=0;for(let te=0;te<de;te++){ie+=(l[te]-(Math.round(oe[te].re)|0))**2,ie+=(l[de+te]-(Math.round(oe[te].im)|0))**2;let ce=-Math.round(he[te].
re);ie+=ce*ce,B[te]=ce&65535;let ke=-Math.round(he[te].im);ie+=ke*ke,B[te+de]=ke&65535}if(br(Z,$,G,Y,oe,he),!(ie<=Wo[n]))continue;let Q=qt(e).encode(B);if(Q.length>
a){V(Q);continue}return{s2:Q,nonce:b,msg:u}}}finally{V(B),M.destroy(),br(L,O,R,D),V(T)}}finally{V(p,w,m)}}finally{V(y)}},re=(x,u,a,d)=>{let b=qt(e).decode(u),l=v(
a,d),y=f.toMontgomery(f.ntt(S.decode(x))),p=f.intt(f.mul(f.ntt(c.decode(b)),y));return f.sub(p,l),f.isShort(c.encode(p),b)},ue=Object.freeze({type:"falcon"}),me=Object.
freeze({seed:48,publicKey:S.bytesLen,secretKey:_.bytesLen}),pe=[...dr,"random"],le=(x={})=>{if(x=ot(x,pe),x.context!==void 0)throw new Error("context is not sup\
ported");if(x.random!==void 0&&typeof x.random!="function")throw new TypeError('"opts.random" expected function, got type='+typeof x.random);if(x.random!==void 0)
return x.random;if(x.extraEntropy===void 0)return vt;let u=x.extraEntropy===!1?new Uint8Array(48):x.extraEntropy;z(u,48,"opts.extraEntropy");let a=xo(u);return(d=0)=>a.
randomBytes(d)},we=(x={})=>{if(ut(x).context!==void 0)throw new Error("context is not supported")},Se=Object.freeze({publicKeyCoder:Object.freeze(S),privateKeyCoder:Object.
freeze(_),maxS2Len:t.maxS2Len}),xe=Object.freeze({...me,signRand:48}),Ee=t.padded?Object.freeze({...xe,signature:t.sigLen}):xe,Ae=x=>{let u=x===void 0;u&&(x=vt(
48)),z(x,48,"seed");let[a,d,b,l,y]=new i(n,x).generate(),p=_.encode([a,d,b]),w=S.encode(y);return u&&V(x),V(a,d,b,l),{publicKey:w,secretKey:p}},ae=x=>{z(x,_.bytesLen,
"secretKey");let[u,a,d]=_.decode(x);try{let b=H(u,a);return V(u,a,d),S.encode(b)}catch(b){throw V(u,a,d),b}},je=(x,u,a={})=>{let{s2:d,nonce:b}=W(u,x,t.maxS2Len,
le(a));return F(n).encode({nonce:b,s2:d})},st=(x,u,a,d={})=>{we(d),z(x,void 0,"signature"),z(u,void 0,"msg"),z(a,void 0,"publicKey");try{let{s2:b,nonce:l}=F(n).
decode(x);return re(a,b,l,u)}catch{return!1}},Ce=Object.freeze({info:ue,lengths:xe,keygen:Ae,getPublicKey:ae,seal(x,u,a={}){let{s2:d,nonce:b}=W(u,x,t.maxS2Len,le(
a));return C.encode({msg:x,nonce:b,s2:d})},open(x,u,a={}){we(a),z(x,void 0,"signature"),z(u,void 0,"publicKey");let d=Ke(x),b=Ke(u);try{let l;try{let{s2:y,nonce:p,
msg:w}=C.decode(d);re(b,y,p,w)&&(l=w)}catch(y){throw new Error("invalid signature",{cause:y})}if(l===void 0)throw new Error("invalid signature");return Ke(l)}finally{
V(d,b)}}}),k={info:ue,lengths:Ee,attached:Ce,keygen:Ae,getPublicKey:ae,sign:je,verify:st};return k.__test=Se,Object.freeze(k)}var $s={N:512,padded:!1,sigLen:666,
fgBits:6,FGBits:8,paddedLen:625};var Zo=Ds({...$s,padded:!0,maxS2Len:625});/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Qo=Object.freeze(["extraEntropy","externalMu"]),Ks=Object.freeze(["externalMu"]);
function ef(t,e){let n=vn(t,e);return n.externalMu!==void 0&&ko(n.externalMu,"opts.externalMu"),n}var be=256,At=8380417,zs=1753,qs=8347681,It=13,gr=Math.floor((At-
1)/88)|0,mr=Math.floor((At-1)/32)|0,Vs=Object.freeze({2:Object.freeze({K:4,L:4,D:It,GAMMA1:2**17,GAMMA2:gr,TAU:39,ETA:2,OMEGA:80}),3:Object.freeze({K:6,L:5,D:It,
GAMMA1:2**19,GAMMA2:mr,TAU:49,ETA:4,OMEGA:55}),5:Object.freeze({K:8,L:7,D:It,GAMMA1:2**19,GAMMA2:mr,TAU:60,ETA:2,OMEGA:75})}),ze=t=>new Int32Array(t),fe=Ln({N:be,
Q:At,F:qs,ROOT_OF_UNITY:zs,newPoly:ze,isKyber:!1,brvBits:8}),tf=t=>t,sn=(t,e=tf,n=tf)=>fe.bitsCoder(t,{encode:r=>e(n(r)),decode:r=>n(e(r))}),xt=(t,e)=>{let n=t,
r=e;for(let o=0;o<n.length;o++)n[o]=fe.mod(n[o]+r[o]);return n},nf=(t,e)=>{let n=t,r=e;for(let o=0;o<n.length;o++)n[o]=fe.mod(n[o]-r[o]);return n},Gs=t=>{let e=t;
for(let n=0;n<be;n++)e[n]<<=It;return e},an=(t,e)=>{let n=t;for(let r=0;r<be;r++)if(Math.abs(fe.smod(n[r]))>=e)return!0;return!1},Et=(t,e)=>{let n=t,r=e,o=ze(be);
for(let f=0;f<n.length;f++)o[f]=fe.mod(n[f]*r[f]);return o};function In(t){let e=t,n=ze(be);for(let r=0;r<be;){let o=e();if(o.length%3)throw new Error("RejNTTPo\
ly: unaligned block");for(let f=0;r<be&&f<=o.length-3;f+=3){let c=(o[f+0]|o[f+1]<<8|o[f+2]<<16)&8388607;c<At&&(n[r++]=c)}}return n}function Ys(t){let e=t,{K:n,L:r,
GAMMA1:o,GAMMA2:f,TAU:c,ETA:s,OMEGA:i}=e,{CRH_BYTES:h,TR_BYTES:E,C_TILDE_BYTES:g,XOF128:A,XOF256:_,securityLevel:S}=e;if(![2,4].includes(s))throw new Error("Wro\
ng ETA");if(![1<<17,1<<19].includes(o))throw new Error("Wrong GAMMA1");if(![gr,mr].includes(f))throw new Error("Wrong GAMMA2");let U=c*s,N=k=>{let x=fe.mod(k),u=fe.
smod(x,2*f)|0;return x-u===At-1?{r1:0,r0:u-1|0}:{r1:Math.floor((x-u)/(2*f))|0,r0:u}},P=k=>N(k).r1,J=k=>N(k).r0,I=(k,x)=>k<=f||k>At-f||k===At-f&&x===0?0:1,F=Math.
floor((At-1)/(2*f)),C=(k,x)=>{let{r1:u,r0:a}=N(x);return k===1?a>0?fe.mod(u+1,F)|0:fe.mod(u-1,F)|0:u|0},j=k=>{let x=fe.mod(k),u=fe.smod(x,2**It)|0;return{r1:Math.
floor((x-u)/2**It)|0,r0:u}},H={bytesLen:i+n,encode:k=>{let x=k;if(x===!1)throw new Error("hint.encode: hint is false");let u=new Uint8Array(i+n);for(let a=0,d=0;a<
n;a++){for(let b=0;b<be;b++)x[a][b]!==0&&(u[d++]=b);u[i+a]=d}return u},decode:k=>{let x=[],u=0;for(let a=0;a<n;a++){let d=ze(be);if(k[i+a]<u||k[i+a]>i)return!1;
for(let b=u;b<k[i+a];b++){if(b>u&&k[b]<=k[b-1])return!1;d[k[b]]=1}u=k[i+a],x.push(d)}for(let a=u;a<i;a++)if(k[a]!==0)return!1;return x}},K=sn(s===2?3:4,k=>s-k,k=>{
if(!(-s<=k&&k<=s))throw new Error(`malformed key s1/s3 ${k} outside of ETA range [${-s}, ${s}]`);return k}),v=sn(13,k=>(1<<It-1)-k),q=sn(10),W=sn(o===1<<17?18:20,
k=>fe.smod(o-k)),re=sn(f===gr?6:4),ue=ft(re,n),me=Be("publicKey",32,ft(q,n)),pe=Be("secretKey",32,32,E,ft(K,r),ft(K,n),ft(v,n)),le=Be("signature",g,ft(W,r),H),we=s===
2?k=>k<15?2-k%5:!1:k=>k<9?4-k:!1;function Se(k){let x=k,u=ze(be);for(let a=0;a<be;){let d=x();for(let b=0;a<be&&b<d.length;b+=1){let l=we(d[b]&15),y=we(d[b]>>4&
15);l!==!1&&(u[a++]=l),a<be&&y!==!1&&(u[a++]=y)}}return u}let xe=k=>{let x=ze(be),u=Le.create({}).update(k),a=new Uint8Array(Le.blockLen);u.xofInto(a);let d=a.slice(
0,8);for(let b=be-c,l=8,y=0,p=0;b<be;b++){let w=b+1;for(;w>b;)w=a[l++],!(l<Le.blockLen)&&(u.xofInto(a),l=0);x[b]=x[w],x[w]=1-((d[y]>>p++&1)<<1),p>=8&&(y++,p=0)}
return x},Ee=k=>{let x=k,u=ze(be),a=ze(be);for(let d=0;d<x.length;d++){let{r0:b,r1:l}=j(x[d]);u[d]=b,a[d]=l}return{r0:u,r1:a}},Ae=(k,x)=>{let u=k,a=x;for(let d=0;d<
be;d++)u[d]=C(a[d],u[d]);return u},ae=(k,x)=>{let u=k,a=x,d=ze(be),b=0;for(let l=0;l<be;l++){let y=I(u[l],a[l]);d[l]=y,b+=y}return{v:d,cnt:b}},je=32,st=Be("seed",
32,64,32),Ce=Object.freeze({info:Object.freeze({type:"internal-ml-dsa"}),lengths:Object.freeze({secretKey:pe.bytesLen,publicKey:me.bytesLen,seed:32,signature:le.
bytesLen,signRand:je}),keygen:k=>{let x=new Uint8Array(34),u=k===void 0;u&&(k=Dt(32)),qe(k,32,"seed"),x.set(k),u&&V(k),x[32]=n,x[33]=r;let[a,d,b]=st.decode(Le(x,
{dkLen:st.bytesLen})),l=_(d),y=[];for(let B=0;B<r;B++)y.push(Se(l.get(B&255,B>>8&255)));let p=[];for(let B=r;B<r+n;B++)p.push(Se(l.get(B&255,B>>8&255)));let w=y.
map(B=>fe.NTT.encode(B.slice())),m=[],T=[],L=A(a),O=ze(be);for(let B=0;B<n;B++){V(O);for(let G=0;G<r;G++){let Y=In(L.get(G,B));xt(O,Et(Y,w[G]))}fe.NTT.decode(O);
let{r0:Z,r1:$}=Ee(xt(O,p[B]));m.push(Z),T.push($)}let R=me.encode([a,T]),D=Le(R,{dkLen:E}),M=pe.encode([a,b,D,y,p,m]);return L.clean(),l.clean(),V(a,d,b,y,p,w,O,
m,T,D,x),{publicKey:R,secretKey:M}},getPublicKey:k=>{let[x,u,a,d,b,l]=pe.decode(k),y=A(x),p=d.map(T=>fe.NTT.encode(T.slice())),w=[],m=ze(be);for(let T=0;T<n;T++){
m.fill(0);for(let O=0;O<r;O++){let R=In(y.get(O,T));xt(m,Et(R,p[O]))}fe.NTT.decode(m),xt(m,b[T]);let{r1:L}=Ee(m);w.push(L)}return y.clean(),V(m,p,l,d,b),me.encode(
[x,w])},sign:(k,x,u={})=>{u=ot(u,Qo),u=ef(u,Qo);let{extraEntropy:a,externalMu:d=!1}=u;d&&qe(k,h,"mu");let b=a===!1||a===void 0,l=a===!1?new Uint8Array(32):a===void 0?
Dt(je):a;qe(l,32,"extraEntropy");let y=(()=>{try{return pe.decode(x)}catch($){throw b&&V(l),$}})(),[p,w,m,T,L,O]=y,R=[],D=A(p);for(let $=0;$<n;$++){let G=[];for(let Y=0;Y<
r;Y++)G.push(In(D.get(Y,$)));R.push(G)}D.clean();for(let $=0;$<r;$++)fe.NTT.encode(T[$]);for(let $=0;$<n;$++)fe.NTT.encode(L[$]),fe.NTT.encode(O[$]);let M=d?k:Le.
create({dkLen:h}).update(m).update(k).digest(),B=Le.create({dkLen:h}).update(w).update(l).update(M).digest();b&&V(l),qe(B,h);let Z=_(B,W.bytesLen);e:for(let $=0;;){
let G=[];for(let ee=0;ee<r;ee++,$++)G.push(W.decode(Z.get($&255,$>>8)()));let Y=G.map(ee=>fe.NTT.encode(ee.slice())),oe=[];for(let ee=0;ee<n;ee++){let ge=ze(be);
for(let Ie=0;Ie<r;Ie++)xt(ge,Et(R[ee][Ie],Y[Ie]));fe.NTT.decode(ge),oe.push(ge)}let he=oe.map(ee=>ee.map(P)),de=Le.create({dkLen:g}).update(M).update(ue.encode(
he)).digest(),ie=fe.NTT.encode(xe(de)),Q=T.map(ee=>Et(ee,ie));for(let ee=0;ee<r;ee++)if(xt(fe.NTT.decode(Q[ee]),G[ee]),an(Q[ee],o-U)){V(de,Q,ie,he,oe,Y,G);continue e}
let te=0,ce=[];for(let ee=0;ee<n;ee++){let ge=fe.NTT.decode(Et(L[ee],ie)),Ie=nf(oe[ee],ge).map(J);if(an(Ie,f-U)){V(de,Q,ie,he,oe,Y,G,ce,ge,Ie);continue e}let Ue=fe.
NTT.decode(Et(O[ee],ie));if(an(Ue,f)){V(de,Q,ie,he,oe,Y,G,ce,ge,Ie,Ue);continue e}xt(Ie,Ue);let kt=ae(Ie,he[ee]);ce.push(kt.v),te+=kt.cnt}if(te>i){V(de,Q,ie,he,
oe,Y,G,ce);continue}Z.clean();let ke=le.encode([de,Q,ce]);return V(de,Q,ce,ie,he,oe,Y,G,B,T,L,O,...R),d||V(M),ke}throw new Error("Unreachable code path reached,\
 report this error")},verify:(k,x,u,a={})=>{a=ef(a,Ks);let{externalMu:d=!1}=a;d&&qe(x,h,"mu");let[b,l]=me.decode(u),y=Le(u,{dkLen:E});if(k.length!==le.bytesLen)
return!1;let[p,w,m]=le.decode(k);if(m===!1)return!1;for(let B=0;B<r;B++)if(an(w[B],o-U))return!1;let T=d?x:Le.create({dkLen:h}).update(y).update(x).digest(),L=fe.
NTT.encode(xe(p)),O=w.map(B=>B.slice());for(let B=0;B<r;B++)fe.NTT.encode(O[B]);let R=[],D=A(b);for(let B=0;B<n;B++){let Z=Et(fe.NTT.encode(Gs(l[B])),L),$=ze(be);
for(let Y=0;Y<r;Y++){let oe=In(D.get(Y,B));xt($,Et(oe,O[Y]))}let G=fe.NTT.decode(nf($,Z));R.push(Ae(G,m[B]))}D.clean();let M=Le.create({dkLen:g}).update(T).update(
ue.encode(R)).digest();for(let B of m)if(!(B.reduce(($,G)=>$+G,0)<=i))return!1;for(let B of w)if(an(B,o-U))return!1;return rn(p,M)}});return Object.freeze({info:Object.
freeze({type:"ml-dsa"}),internal:Ce,securityLevel:S,keygen:Ce.keygen,lengths:Ce.lengths,getPublicKey:Ce.getPublicKey,sign:(k,x,u={})=>{u=ot(u);let a=$t(k,u.context),
d=Ce.sign(a,x,{extraEntropy:u.extraEntropy,externalMu:!1});return V(a),d},verify:(k,x,u,a={})=>(a=ut(a),qe(k,void 0,"signature"),Ce.verify(k,$t(x,a.context),u,{
externalMu:!1})),prehash:k=>{on(k,S);let x=k;return Object.freeze({info:Object.freeze({type:"hashml-dsa"}),securityLevel:S,lengths:Ce.lengths,keygen:Ce.keygen,getPublicKey:Ce.
getPublicKey,sign:(u,a,d={})=>{d=ot(d);let b=Kt(x,u,d.context),l=Ce.sign(b,a,{extraEntropy:d.extraEntropy,externalMu:!1});return V(b),l},verify:(u,a,d,b={})=>(b=
ut(b),qe(u,void 0,"signature"),Ce.verify(u,Kt(x,a,b.context),d,{externalMu:!1}))})}})}var rf=Ys({...Vs[3],CRH_BYTES:64,TR_BYTES:64,C_TILDE_BYTES:48,XOF128:Po,XOF256:jo,securityLevel:192});var Rn=class{oHash;iHash;blockLen;outputLen;canXOF=!1;finished=!1;destroyed=!1;constructor(e,n){if(An(e),z(n,void 0,"key"),this.iHash=e.create(),typeof this.iHash.
update!="function")throw new Error("expected Hash instance");this.blockLen=this.iHash.blockLen,this.outputLen=this.iHash.outputLen;let r=this.blockLen,o=new Uint8Array(
r);o.set(n.length>r?e.create().update(n).digest():n);for(let f=0;f<o.length;f++)o[f]^=54;this.iHash.update(o),this.oHash=e.create();for(let f=0;f<o.length;f++)o[f]^=
106;this.oHash.update(o),pt(o)}update(e){return it(this),this.iHash.update(e),this}digestInto(e){it(this),Ct(e,this),this.finished=!0;let n=e.subarray(0,this.outputLen);
this.iHash.digestInto(n),this.oHash.update(n),this.oHash.digestInto(n),this.destroy()}digest(){let e=new Uint8Array(this.oHash.outputLen);return this.digestInto(
e),e}_cloneInto(e){e||=Object.create(Object.getPrototypeOf(this),{});let{oHash:n,iHash:r,finished:o,destroyed:f,blockLen:c,outputLen:s,canXOF:i}=this;return e=e,
e.finished=o,e.destroyed=f,e.blockLen=c,e.outputLen=s,e.canXOF=i,e.oHash=n._cloneInto(e.oHash),e.iHash=r._cloneInto(e.iHash),e}clone(){return this._cloneInto()}destroy(){
this.destroyed=!0,this.oHash.destroy(),this.iHash.destroy()}},of=(()=>{let t=((e,n,r)=>new Rn(e,n).update(r).digest());return t.create=(e,n)=>new Rn(e,n),t})();function ff(t,e,n){return t&e^~t&n}function cf(t,e,n){return t&e^t&n^e&n}var Nn=class{blockLen;outputLen;canXOF=!1;padOffset;isLE;buffer;view;finished=!1;length=0;pos=0;destroyed=!1;constructor(e,n,r,o){
this.blockLen=e,this.outputLen=n,this.padOffset=r,this.isLE=o,this.buffer=new Uint8Array(e),this.view=dt(this.buffer)}update(e){it(this),z(e);let{view:n,buffer:r,
blockLen:o}=this,f=e.length,c=!1;for(let s=0;s<f;){let i=Math.min(o-this.pos,f-s);if(i===o){let h=dt(e);for(;o<=f-s;s+=o)this.process(h,s);c=!0;continue}r.set(s===
0&&i===f?e:e.subarray(s,s+i),this.pos),this.pos+=i,s+=i,this.pos===o&&(this.process(n,0),this.pos=0,c=!0)}return this.length+=e.length,c&&this.roundClean(),this}digestInto(e){
it(this),Ct(e,this),this.finished=!0;let{buffer:n,view:r,blockLen:o,isLE:f}=this,{pos:c}=this;n[c++]=128,n.fill(0,c),this.padOffset>o-c&&(this.process(r,0),n.fill(
0)),Jr(r,o-8,this.length*8,f),this.process(r,0),this.roundClean();let s=e===n?r:dt(e),i=this.outputLen,h=i/4,E=this.get();if(i%4||h>E.length)throw new Error("in\
valid outputLen");for(let g=0;g<h;g++)s.setUint32(4*g,E[g],f)}digest(){let{buffer:e,outputLen:n}=this;this.digestInto(e);let r=e.slice(0,n);return this.destroy(),
r}_cloneIntoMeta(e){let{buffer:n,length:r,finished:o,destroyed:f,pos:c}=this;return e.destroyed=f,e.finished=o,e.length=r,e.pos=c,c&&e.buffer.set(n),e}clone(){return this.
_cloneInto()}},sf=Uint32Array.from([1779033703,3144134277,1013904242,2773480762,1359893119,2600822924,528734635,1541459225]);var Ws=Uint32Array.from([1116352408,1899447441,3049323471,3921009573,961987163,1508970993,2453635748,2870763221,3624381080,310598401,607225278,1426881987,1925078388,
2162078206,2614888103,3248222580,3835390401,4022224774,264347078,604807628,770255983,1249150122,1555081692,1996064986,2554220882,2821834349,2952996808,3210313671,
3336571891,3584528711,113926993,338241895,666307205,773529912,1294757372,1396182291,1695183700,1986661051,2177026350,2456956037,2730485921,2820302411,3259730800,
3345764771,3516065817,3600352804,4094571909,275423344,430227734,506948616,659060556,883997877,958139571,1322822218,1537002063,1747873779,1955562222,2024104815,2227730452,
2361852424,2428436474,2756734187,3204031479,3329325298]),_t=new Uint32Array(64),wr=class extends Nn{A=0;B=0;C=0;D=0;E=0;F=0;G=0;H=0;constructor(e,n){super(64,e,
8,!1),this.A=n[0]|0,this.B=n[1]|0,this.C=n[2]|0,this.D=n[3]|0,this.E=n[4]|0,this.F=n[5]|0,this.G=n[6]|0,this.H=n[7]|0}get(){let{A:e,B:n,C:r,D:o,E:f,F:c,G:s,H:i}=this;
return[e,n,r,o,f,c,s,i]}set(e,n,r,o,f,c,s,i){this.A=e|0,this.B=n|0,this.C=r|0,this.D=o|0,this.E=f|0,this.F=c|0,this.G=s|0,this.H=i|0}_cloneInto(e){return(e||=new this.
constructor).set(...this.get()),this._cloneIntoMeta(e)}process(e,n){for(let g=0;g<16;g++,n+=4)_t[g]=e.getUint32(n,!1);for(let g=16;g<64;g++){let A=_t[g-15],_=_t[g-
2],S=Je(A,7)^Je(A,18)^A>>>3,U=Je(_,17)^Je(_,19)^_>>>10;_t[g]=U+_t[g-7]+S+_t[g-16]|0}let{A:r,B:o,C:f,D:c,E:s,F:i,G:h,H:E}=this;for(let g=0;g<64;g++){let A=Je(s,6)^
Je(s,11)^Je(s,25),_=E+A+ff(s,i,h)+Ws[g]+_t[g]|0,U=(Je(r,2)^Je(r,13)^Je(r,22))+cf(r,o,f)|0;E=h,h=i,i=s,s=c+_|0,c=f,f=o,o=r,r=_+U|0}r=r+this.A|0,o=o+this.B|0,f=f+
this.C|0,c=c+this.D|0,s=s+this.E|0,i=i+this.F|0,h=h+this.G|0,E=E+this.H|0,this.set(r,o,f,c,s,i,h,E)}roundClean(){pt(_t)}destroy(){this.destroyed=!0,this.set(0,0,
0,0,0,0,0,0),pt(this.buffer)}},xr=class extends wr{constructor(){super(32,sf)}};var Rt=Jt(()=>new xr,Ht(1));/*! noble-post-quantum - MIT License (c) 2024 Paul Miller (paulmillr.com) */var Xs=Object.freeze(["extraEntropy"]),Js=Object.freeze([]),Zs=Object.freeze({"128f":Object.
freeze({W:16,N:16,H:66,D:22,K:33,A:6,securityLevel:128}),"128s":Object.freeze({W:16,N:16,H:63,D:7,K:14,A:12,securityLevel:128}),"192f":Object.freeze({W:16,N:24,
H:66,D:22,K:33,A:8,securityLevel:192}),"192s":Object.freeze({W:16,N:24,H:63,D:7,K:17,A:14,securityLevel:192}),"256f":Object.freeze({W:16,N:32,H:68,D:17,K:35,A:9,
securityLevel:256}),"256s":Object.freeze({W:16,N:32,H:64,D:8,K:22,A:14,securityLevel:256})}),Fe={WOTS:0,WOTSPK:1,HASHTREE:2,FORSTREE:3,FORSPK:4,WOTSPRF:5,FORSPRF:6},
Er=(t,e)=>{let n=Qe(e);return r=>{let o=new Uint32Array(t);for(let f=0,c=0,s=0,i=0;f<t;f++){for(;s<e;)i=i<<8|r[c++],s+=8;s-=e,o[f]=i>>>s&n}return o}},af=BigInt(
1),Qs=BigInt(8),ea=BigInt(255);function Ar(t){return(af<<BigInt(t))-af}function ta(t,e){let n=e,{N:r,W:o,H:f,D:c,K:s,A:i,securityLevel:h}=t,E=n.getContext(t);if(o!==
16)throw new Error("Unsupported Winternitz parameter");let g=4,A=Math.floor(8*r/g),_=r<=8?2:r<=136?3:4,S=Math.floor(f/c),U=A+_,N=22,P=0,J=1,I=9,F=12,C=13,j=17,H=18,
K=21;n.isCompressed||(N=32,P+=3,J+=7,I+=10,F+=10,C+=10,j+=10,H+=10,K+=10);let v=(a,d=new Uint8Array(N))=>{let b=Object.hasOwn(a,"type")?a.type:void 0,l=Object.hasOwn(
a,"height")?a.height:void 0,y=Object.hasOwn(a,"tree")?a.tree:void 0,p=Object.hasOwn(a,"layer")?a.layer:void 0,w=Object.hasOwn(a,"index")?a.index:void 0,m=Object.
hasOwn(a,"chain")?a.chain:void 0,T=Object.hasOwn(a,"hash")?a.hash:void 0,L=Object.hasOwn(a,"keypair")?a.keypair:void 0,O=Object.hasOwn(a,"subtreeAddr")?a.subtreeAddr:
void 0,R=Object.hasOwn(a,"keypairAddr")?a.keypairAddr:void 0;if(l!==void 0&&(d[j]=l),p!==void 0&&(d[P]=p),b!==void 0&&(d[I]=b),m!==void 0&&(d[j]=m),T!==void 0&&
(d[K]=T),w!==void 0&&(d[H+0]=w>>>24,d[H+1]=w>>>16,d[H+2]=w>>>8,d[H+3]=w),O&&d.set(O.subarray(0,J+8)),y!==void 0){let D=y;for(let M=7;M>=0;M--,D>>=Qs)d[J+M]=Number(
D&ea)}return L!==void 0&&(d[C]=L,S>8&&(d[F]=L>>>8)),R&&(d.set(R.subarray(0,J+8)),d[C]=R[C],S>8&&(d[F]=R[F])),d},q=Er(_,g),W=a=>{let d=Er(A,g)(a),b=0;for(let p=0;p<
d.length;p++)b+=o-1-d[p];b<<=(8-_*g%8)%8;let l=q(Uo(b,Math.ceil(_*g/8))),y=new Uint32Array(U);return y.set(d),y.set(l,d.length),y},re=Er(s,i),ue=S*(c-1),me=S,pe=Be(
"hashedMessage",Math.ceil(i*s/8),Math.ceil(ue/8),Math.ceil(S/8)),le=(a,d,b,l)=>{let p=l.Hmsg(a,d,b,pe.bytesLen),[w,m,T]=pe.decode(p),L=fr(m)&Ar(ue),O=Number(fr(
T))&Qe(me);return{tree:L,leafIdx:O,md:w}},we=(a,d)=>function(l,y,p,w,m){let T=l,L=d,O=(1<<a)-1,R=new Uint8Array(a*r),D=new Uint8Array(a*r),M=new Uint8Array(2*r),
B=M.subarray(0,r),Z=M.subarray(r);for(let $=0;;$++){let G=$+p;Z.set(L(y,G,T,m));let Y=0;for(let oe=$,he=p,de=y;;Y++,oe>>>=1,de>>>=1,he>>>=1){if(Y===a)return{root:Z,
authPath:D};if((oe^de)===1&&D.subarray(Y*r).set(Z),(oe&1)===0&&$<O)break;v({height:Y+1,index:(oe>>1)+(he>>1)},w),B.set(R.subarray(Y*r).subarray(0,r)),Z.set(T.thashN(
2,M,w))}R.subarray(Y*r).set(Z)}throw new Error("Unreachable code path reached, report this error")},Se=we(S,(a,d,b,l)=>{let y=b,p=new Uint8Array(U*r),w=d===a?0:
-1>>>0;v({keypair:d},l.leafAddr),v({keypair:d},l.pkAddr);for(let m=0;m<U;m++){let T=l.wotsSteps[m]|w,L=p.subarray(m*r,(m+1)*r);v({chain:m,hash:0,type:Fe.WOTSPRF},
l.leafAddr),L.set(y.PRFaddr(l.leafAddr)),v({type:Fe.WOTS},l.leafAddr);for(let O=0;O===T&&l.wotsSig.subarray(m*r).set(L),O!==o-1;O++)v({hash:O},l.leafAddr),L.set(
y.thash1(L,l.leafAddr))}return y.thashN(U,p,l.pkAddr)}),xe=we(i,(a,d,b,l)=>{let y=b;v({type:Fe.FORSPRF,index:d},l);let p=y.PRFaddr(l);return v({type:Fe.FORSTREE},
l),y.thash1(p,l)}),Ee=(a,d,b,l,y=new Uint8Array(r))=>{v({type:Fe.HASHTREE},b);let p={wotsSig:new Uint8Array(k.bytesLen),wotsSteps:W(y),leafAddr:v({subtreeAddr:d}),
pkAddr:v({type:Fe.WOTSPK,subtreeAddr:d})},{root:w,authPath:m}=Se(a,l,0,b,p);return{root:w,sigWots:p.wotsSig.subarray(0,U*r),sigAuth:m}},Ae=(a,d,b,l,y,p,w)=>{let m=p,
T=new Uint8Array(2*r),L=T.subarray(0,r),O=T.subarray(r,2*r);(d&1)!==0?(O.set(a.subarray(0,r)),L.set(l.subarray(0,r))):(L.set(a.subarray(0,r)),O.set(l.subarray(0,
r))),d>>>=1,b>>>=1;for(let R=0;R<y-1;R++,d>>=1,b>>=1){v({height:R+1,index:d+b},w);let D=l.subarray((R+1)*r,(R+2)*r);(d&1)!==0?(O.set(m.thashN(2,T,w)),L.set(D)):
(T.set(m.thashN(2,T,w)),O.set(D))}return v({height:y,index:d+b},w),m.thashN(2,T,w)},ae=Be("seed",r,r,r),je=Be("publicKey",r,r),st=Be("secretKey",r,r,je.bytesLen),
Ce=ft(Be("fors",r,r*i),s),k=ft(Be("wots",U*r,S*r),c),x=Be("signature",r,Ce,k),u=Object.freeze({info:Object.freeze({type:"internal-slh-dsa"}),lengths:Object.freeze(
{publicKey:je.bytesLen,secretKey:st.bytesLen,signature:x.bytesLen,seed:ae.bytesLen,signRand:r}),keygen(a){a!==void 0&&qe(a,ae.bytesLen,"seed"),a=a===void 0?Dt(ae.
bytesLen):Ke(a);let[d,b,l]=ae.decode(a),y=E(l,d),p=v({layer:c-1}),w=v({layer:c-1}),{root:m}=Ee(y,w,p,-1>>>0),T=je.encode([l,m]),L=st.encode([d,b,T]);return y.clean(),
V(d,b,m,w,p),{publicKey:T,secretKey:L}},getPublicKey:a=>{let[d,b,l]=st.decode(a);return Uint8Array.from(l)},sign:(a,d,b={})=>{b=ot(b,Xs);let{extraEntropy:l}=b,[
y,p,w]=st.decode(d),[m,T]=je.decode(w);l===!1?l=Ke(m):l===void 0?l=Dt(r):l=Ke(l),qe(l,r);let L=E(m,y),O=L.PRFmsg(p,l,a),{tree:R,leafIdx:D,md:M}=le(O,w,a,L),B=v(
{type:Fe.WOTS,tree:R,keypair:D}),Z=[],$=v({keypairAddr:B}),G=v({keypairAddr:B}),Y=re(M),oe=[];for(let ce=0;ce<Y.length;ce++){let ke=ce<<i;v({type:Fe.FORSPRF,height:0,
index:Y[ce]+ke},G);let ee=Ke(L.PRFaddr(G));v({type:Fe.FORSTREE},G);let{root:ge,authPath:Ie}=xe(L,Y[ce],ke,G,$);Z.push(ge),oe.push([ee,Ie])}let he=v({type:Fe.FORSPK,
keypairAddr:B}),de=Ke(L.thashN(s,mt(...Z),he)),ie=v({type:Fe.HASHTREE}),Q=[];for(let ce=0;ce<c;ce++,R>>=BigInt(S)){v({tree:R,layer:ce},ie),v({subtreeAddr:ie,keypair:D},
B);let{sigWots:ke,sigAuth:ee,root:ge}=Ee(L,B,ie,D,de);de.set(ge),V(ge),Q.push([ke,ee]),D=Number(R&Ar(S))}L.clean();let te=x.encode([O,oe,Q]);return V(O,l,ie,B,$,
G,Y,Z),te},verify:(a,d,b,l={})=>{ut(l,Js);let[y,p]=je.decode(b),w=b;if(qe(a,void 0,"signature"),a.length!==x.bytesLen)return!1;let[m,T,L]=x.decode(a),O=E(y),{tree:R,
leafIdx:D,md:M}=le(m,w,d,O),B=v({type:Fe.WOTS,tree:R,keypair:D}),Z=[],$=v({type:Fe.FORSTREE,keypairAddr:B}),G=re(M);for(let Q=0;Q<T.length;Q++){let[te,ce]=T[Q],
ke=Q<<i;v({height:0,index:G[Q]+ke},$);let ee=O.thash1(te,$);Z.push(Ke(Ae(ee,G[Q],ke,ce,i,O,$)))}let Y=v({type:Fe.FORSPK,keypairAddr:B}),oe=Ke(O.thashN(s,mt(...Z),
Y)),he=v({type:Fe.HASHTREE}),de=v({type:Fe.WOTSPK}),ie=new Uint8Array(U*r);for(let Q=0;Q<L.length;Q++,R>>=BigInt(S)){let[te,ce]=L[Q];v({tree:R,layer:Q},he),v({subtreeAddr:he,
keypair:D},B),v({keypairAddr:B},de);let ke=W(oe);for(let ge=0;ge<U;ge++){v({chain:ge},B);let Ie=o-1-ke[ge],Ue=ke[ge],kt=ie.subarray(ge*r);kt.set(te.subarray(ge*
r,(ge+1)*r));for(let ht=Ue;ht<Ue+Ie&&ht<o;ht++)v({hash:ht},B),kt.set(O.thash1(kt,B))}let ee=O.thashN(U,ie,de);oe=Ke(Ae(ee,D,0,ce,S,O,he)),D=Number(R&Ar(S))}return rn(
oe,p)}});return Object.freeze({info:Object.freeze({type:"slh-dsa"}),internal:u,securityLevel:h,lengths:u.lengths,keygen:u.keygen,getPublicKey:u.getPublicKey,sign:(a,d,b={})=>{
b=ot(b);let l=$t(a,b.context),y=u.sign(l,d,{extraEntropy:b.extraEntropy});return V(l),y},verify:(a,d,b,l={})=>(l=ut(l),u.verify(a,$t(d,l.context),b)),prehash:a=>{
on(a,h);let d=a;return Object.freeze({info:Object.freeze({type:"hashslh-dsa"}),lengths:u.lengths,keygen:u.keygen,getPublicKey:u.getPublicKey,sign:(b,l,y={})=>{y=
ot(y);let p=Kt(d,b,y.context),w=u.sign(p,l,{extraEntropy:y.extraEntropy});return V(p),w},verify:(b,l,y,p={})=>(p=ut(p),u.verify(b,Kt(d,l,p.context),y))})}})}var na=(t,e)=>n=>(r,o)=>{let{N:f}=n,c={prf:0,thash:0,hmsg:0,gen_message_random:0,mgf1:0},s=new Uint8Array(4),i=dt(s),h=t.create().update(r).update(new Uint8Array(
t.blockLen-f)),E=e.create().update(r).update(new Uint8Array(e.blockLen-f)),g=h.clone(),A=E.clone(),_=new Uint8Array(t.outputLen),S=new Uint8Array(e.outputLen),U=new Uint8Array(
t.outputLen),N=_.subarray(0,f),P=S.subarray(0,f),J=U.subarray(0,f);function I(C,j,H){c.mgf1++;let K=new Uint8Array(Math.ceil(j/H.outputLen)*H.outputLen);if(j>2**
32)throw new Error("mask too long");for(let v=0,q=K;q.length;v++)i.setUint32(0,v,!1),H.create().update(C).update(s).digestInto(q),q=q.subarray(H.outputLen);return V(
K.subarray(j)),K.subarray(0,j)}let F=(C,j,H,K)=>(v,q,W)=>{c.thash++;let re=v*f;return C._cloneInto(j).update(W).update(q.length===re?q:q.subarray(0,re)).digestInto(
H),K};return{PRFaddr:C=>{if(!o)throw new Error("No sk seed");return c.prf++,h._cloneInto(g).update(C).update(o).digestInto(U),J},PRFmsg:(C,j,H)=>(c.gen_message_random++,
of.create(e,C).update(j).update(H).digest().subarray(0,f)),Hmsg:(C,j,H,K)=>{c.hmsg++;let v=mt(C.subarray(0,f),j.subarray(0,f),e.create().update(C.subarray(0,f)).
update(j).update(H).digest());return I(v,K,e)},thash1:F(h,g,_,N).bind(null,1),thashN:F(E,A,S,P),clean:()=>{h.destroy(),E.destroy(),g.destroy(),A.destroy(),V(_,S,
U)}}},ra={isCompressed:!0,getContext:na(Rt,Rt)};var df=ta(Zs["128f"],ra);function _r(t,e,n,[r,o],f){return Object.freeze({id:t,name:e,coseAlgorithm:n,publicKeyBytes:r,signatureBytes:o,verifies:(s,i,h)=>s.length===r&&h.length===o&&f.verify(
h,i,s)})}var Tt=_r("ml-dsa-65","ML-DSA-65 (FIPS 204)",-49,[1952,3309],rf),Mn=_r("falcon-512-padded-r3","Falcon-512 (round 3, padded)",-66512,[897,666],Zo),Fn=_r(
"slh-dsa-sha2-128f","SLH-DSA-SHA2-128f (FIPS 205)",-66128,[32,17088],df),St=[Tt,Mn,Fn];function Nt(t){return{"ml-dsa-65":t(Tt),"falcon-512-padded-r3":t(Mn),"slh\
-dsa-sha2-128f":t(Fn)}}var oa="trefoil:statement/2",et=255,kr=16,Or=64,bf=64,fa=120n,dn=1024,uf=32,Vt=-65537,bn=255,ca=65535,Oe=4294967295,sa=["no_match","match"],aa=[void 0,"plain","\
shared"];function Cn(t){return Lt(t)}function Hn(t){let e=De.of("statement",t,dn);e.map("statement",8);let n=e.key("iss",1).text("iss",et),r=e.key("aud",3).text(
"aud",et),o=e.key("exp",4).uint("exp"),f=e.key("iat",6).uint("iat"),c=o-f;if(c<1n||c>fa)throw e.outOfRange("exp");let s=e.key("cti",7).bytes("cti",17),i=s[16]??
uf;if(i>=uf)throw e.outOfRange("cti");let h=e.key("eat_nonce",10).bytes("eat_nonce",kr,Or);e.key("eat_profile",265).format("eat_profile",oa),e.key("trefoil",Vt);
let E=ia(e);e.finish("statement");let g=s.slice(0,16);return Object.freeze({issuer:n,audience:r,expiresAt:o,issuedAt:f,batchId:g,place:i,nonce:h,...E})}var Tr=11;
function ia(t){let e=t.map("trefoil",Tr,Tr+1),n={suite:un(t.key("suite",1)),tenant:t.key("tenant",2).bytes("tenant",16),account:t.key("account",3).bytes("accoun\
t",32),requestDigest:t.key("request_digest",4).bytes("request_digest",32),decision:lf(t.key("decision",5),"decision",sa),probeMode:lf(t.key("probe_mode",6),"pro\
be_mode",aa),policyId:Sr(t.key("policy",7),"policy").number("policy.id",Oe),policyVersion:t.number("policy.version",Oe),fmrClass:t.key("fmr_class",8).number("fm\
r_class",bn),embedder:Sr(t.key("model",9),"model").text("model.embedder",bf),quantiser:t.text("model.quantiser",bf),templateGeneration:t.key("template_generatio\
n",10).number("template_generation",Oe),proof:da(t.key("proof",11))};if(e===Tr)return{...n,reveal:void 0};let r=t.offset,o=ba(t.key("reveal",12));if(n.proof===void 0)
throw t.outOfRange("reveal",r);return{...n,reveal:o}}function un(t){let e=t.offset,n=t.uint("suite");if(n===1n)return 1;let r=`signature suite ${n} is unknown; \
update the verifier`;throw t.error("suite","unknown-suite",r,e)}function Sr(t,e){return t.array(e,2),t}function lf(t,e,n){let r=t.offset,o=t.uint(e),f=o<BigInt(
n.length)?n[Number(o)]:void 0;if(f===void 0)throw t.outOfRange(e,r);return f}function da(t){if(t.isNull()){t.null("proof");return}return t.array("proof",5),Object.
freeze({circuit:t.number("proof.circuit",ca),root:t.bytes("proof.root",32),level:t.number("proof.level",bn),epoch:t.number("proof.epoch",Oe),session:t.bytes("pr\
oof.session",32)})}function ba(t){Sr(t,"reveal");let e=t.offset,n=t.number("reveal.position",Oe);if(n===0)throw t.outOfRange("reveal.position",e);return Object.
freeze({position:n,value:t.bytes("reveal.value",32)})}var yf=63,ln=32,pf=Rt(new Uint8Array);function ua(t){return Rt.create().update(Uint8Array.of(0)).update(t).digest()}function hf(t,e){return Rt.create().update(Uint8Array.
of(1)).update(t).update(e).digest()}function la(t,e,n,r){if(e<0n||e>=n)return;let o=e,f=n-1n,c=t;for(let s of r){if(f===0n)return;if((o&1n)===1n||o===f)for(c=hf(
s,c);(o&1n)===0n&&o!==0n;)o>>=1n,f>>=1n;else c=hf(c,s);o>>=1n,f>>=1n}return f===0n?c:void 0}function Pn(t,e,n,r,o){let f=la(ua(t),e,n,r);return f!==void 0&&He(f,
o)}var mf="trefoil:seal/2",ha=24*1024,wf=1,xf=4,Ef=15,Af=395,vr=1,ya=18,pa=544,ga=3,tt=class t{header;signatures;constructor(e,n){this.header=Object.freeze(e),this.
signatures=Object.freeze(n)}static decode(e){let n=De.of("seal",e,ha),r=t.read(n);return n.finish("seal"),r}static read(e){e.array("seal",4);let n=e.bytes("seal\
.root",ln),r=gf(e,Tt),o=wa(r.protectedHeader,n),f=c=>{let s=e.offset,{protectedHeader:i,signature:h}=gf(e,c);if(He(i,_f(o,c)))return h;throw e.error("seal.prote\
cted","wrong-identifier","the identifier does not match the content it names",s)};return new t(o,Nt(c=>c===Tt?r.signature:f(c)))}reference(){let{header:e}=this,
n=new at().array(4).bytes(e.keySetId);return Tf(n,e),n.int(vr).bytes(e.root),{sealNumber:e.sealNumber,digest:Lt(n.finish())}}isSignedBy(e,n){return e.verifies(n,
ma(this.header,e),this.signatures[e.id])}};function ma(t,e){return new at().array(4).text("Signature1").bytes(_f(t,e)).bytes(new Uint8Array).bytes(t.root).finish()}
function _f(t,e){let n=new at().map(4);return n.int(wf).int(e.coseAlgorithm),n.int(xf).bytes(t.keySetId),Tf(n.int(Ef),t),n.int(Af).int(vr).finish()}function Tf(t,e){
t.map(4),t.int(1).text(e.issuer),t.int(6).uint(e.time),t.int(265).text(mf),t.int(Vt).map(e.restored===void 0?6:7),t.int(1).int(e.suite),t.int(2).uint(e.sealNumber),
t.int(3).bytes(e.previous),t.int(4).uint(e.treeSize),t.int(5).bytes(e.logRoot),t.int(6).array(e.vaults.length);for(let n of e.vaults)n===void 0?t.null():t.array(
2).uint(n.generation).uint(n.restored);e.restored!==void 0&&t.int(7).array(2).uint(e.restored.first).uint(e.restored.time)}function wa(t,e){let n=new De(t);n.map(
"seal.protected",4),n.key("seal.alg",wf).key("seal.alg",Tt.coseAlgorithm);let r=n.key("seal.kid",xf).bytes("seal.kid",32);n.key("seal.claims",Ef).map("seal.clai\
ms",4);let o=n.key("seal.iss",1).text("seal.iss",et),f=n.key("seal.iat",6).uint("seal.iat");n.key("seal.eat_profile",265).format("seal.eat_profile",mf);let c=n.
key("seal.trefoil",Vt).map("seal.trefoil",6,7),s=un(n.key("seal.suite",1)),i=n.key("seal.number",2).uint("seal.number"),h=n.key("seal.previous",3).bytes("seal.p\
revious",32),E=n.key("seal.tree_size",4).uint("seal.tree_size"),g=n.key("seal.log_root",5).bytes("seal.log_root",ln),A=Array.from({length:n.key("seal.vaults",6).
array("seal.vaults",0,ga)},()=>xa(n)),_=c===7?Ea(n.key("seal.restored",7)):void 0;if(E===0n)throw n.outOfRange("seal.tree_size");if(i===0n&&h.some(U=>U!==0))throw n.
outOfRange("seal.previous");if(i===0n&&!He(g,pf))throw n.outOfRange("seal.log_root");if(_!==void 0&&(_.first>i||_.time>f))throw n.outOfRange("seal.restored");n.
key("seal.vds",Af).key("seal.vds",vr),n.finish("seal.protected");let S=Object.freeze(A);return{issuer:o,keySetId:r,sealNumber:i,previous:h,logRoot:g,treeSize:E,
root:e,time:f,suite:s,vaults:S,restored:_}}function xa(t){if(t.isNull()){t.null("seal.vault");return}t.array("seal.vault",2);let e=t.uint("seal.vault.generation");
return Object.freeze({generation:e,restored:t.uint("seal.vault.restored")})}function Ea(t){t.array("seal.restored",2);let e=t.uint("seal.restored.first");return Object.
freeze({first:e,time:t.uint("seal.restored.time")})}function gf(t,e){t.tag("seal.receipt",ya),t.array("seal.receipt",4);let n=t.bytes("seal.protected",1,pa);return t.
map("seal.unprotected",0),t.null("seal.payload"),{protectedHeader:n,signature:t.bytes("seal.signature",e.signatureBytes)}}var Aa="trefoil:attestation/1",_a=28*1024;function lt(t){let e=De.of("attestation",t,_a);e.map("attestation",6),e.key("format",0).format("format",Aa);let n=e.key(
"statement",1).bytes("statement",1,dn),r=e.key("tree_size",2).uint("tree_size"),o=e.key("leaf_index",3).uint("leaf_index"),f=e.key("path",4).array("path",0,yf),
c=Array.from({length:f},()=>e.bytes("path",ln)),s=Ta(e);return e.finish("attestation"),{statement:n,treeSize:r,leafIndex:o,path:c,evidence:s}}function Ta(t){let e=t.
offset,n=t.int("seal");if(n===5n)return{form:"full",seal:tt.read(t)};if(n!==6n)throw t.unexpectedKey("seal",5,n,e);return t.array("seal_reference",2),{form:"com\
pact",reference:{sealNumber:t.uint("seal_reference.number"),digest:t.bytes("seal_reference.digest",32)}}}var Te=class extends Error{name="JsonError"},Sa=8,ka=(1n<<64n)-1n;function Sf(t){let e=new Lr(t),n=e.value(Sa);return e.finish(),n}var Lr=class{#t;#e=0;constructor(e){
this.#t=e}#n(e){return new Te(`unexpected JSON at character ${this.#e}: ${e}`)}#r(){for(;` 	
\r`.includes(this.#t[this.#e]??"end");)this.#e+=1;return this.#t[this.#e]??""}#o(e){return this.#r()!==e?!1:(this.#e+=1,!0)}finish(){if(this.#r()!=="")throw this.#n(
"the text must end here")}value(e){if(e===0)throw this.#n("nested too deeply");let n=this.#r();return n==="{"?this.#f(e):n==="["?this.#s(e):n==='"'?this.#c():this.#t.
startsWith("null",this.#e)?(this.#e+=4,null):this.#a()}#f(e){let n=new Map;if(this.#e+=1,this.#o("}"))return n;do{if(this.#r()!=='"')throw this.#n("a field name\
 belongs here");let r=this.#c();if(n.has(r))throw this.#n(`field ${JSON.stringify(r)} is repeated`);if(!this.#o(":"))throw this.#n("a colon belongs here");n.set(
r,this.value(e-1))}while(this.#o(","));if(!this.#o("}"))throw this.#n("a comma or a closing brace belongs here");return n}#s(e){let n=[];if(this.#e+=1,this.#o("\
]"))return n;do n.push(this.value(e-1));while(this.#o(","));if(!this.#o("]"))throw this.#n("a comma or a closing bracket belongs here");return n}#c(){let e=this.#e+
1;for(;e<this.#t.length&&this.#t[e]!=='"';)e+=this.#t[e]==="\\"?2:1;let n=Oa(this.#t.slice(this.#e,e+1));if(n===void 0)throw this.#n("a string of Unicode charac\
ters belongs here");return this.#e=e+1,n}#a(){let e=/(?:0|[1-9][0-9]{0,19})(?![0-9.eE])/y;e.lastIndex=this.#e;let n=e.exec(this.#t)?.[0];if(n===void 0||BigInt(n)>
ka)throw this.#n("an object, an array, a string or an unsigned 64-bit integer belongs here");return this.#e+=n.length,BigInt(n)}};function Oa(t){try{let e=JSON.
parse(t);return typeof e=="string"&&!/\p{Cs}/u.test(e)?e:void 0}catch{return}}var Br="trefoil:trust-root/1",Lf="trefoil:key-set/1",kf=64,Of=512*1024,va=320*1024,Bf=4,Uf={version:1n,previous:new Uint8Array(32),cosignatures:[]},Ge=class t{issuer;keySets;version;previous;cosignatures;constructor(e,n,r){
this.issuer=e,this.keySets=Object.freeze(n),this.version=r.version,this.previous=r.previous,this.cosignatures=Object.freeze(r.cosignatures),Object.freeze(this)}digest(){
let e=this.version===1n,n=new at().array(e?3:5).text(Br).text(this.issuer).array(this.keySets.length);for(let r of this.keySets){Mf(n.array(3),r);let{status:o}=r;
n.int(["active","retired","revoked"].indexOf(o.state)).uint(o.state==="active"?0n:o.since)}return e||n.uint(this.version).bytes(this.previous),Lt(n.finish())}keySet(e){
return this.keySets.find(n=>He(n.id,e))}static decode(e){let n=De.of("trust_root",e,va),r=n.array("trust_root",3,6);if(r!==3&&r!==6)throw n.wrongLength("trust_r\
oot");n.format("trust_root.format",Br);let o=n.text("trust_root.issuer",et),f=n.array("trust_root.key_sets",1,kf),c=Array.from({length:f},()=>Ia(n));if(vf(c))throw n.
outOfRange("trust_root.key_sets");let s=r===3?Uf:Ua(n);return n.finish("trust_root"),new t(o,c,s)}static fromJson(e){if(typeof e!="string")throw new TypeError("\
a trust root in text form is a string");if(e.length>Of||Yt(e).length>Of)throw new Te("the JSON text is too long; pass exactly one object");let n=Sf(e),[r,o,f]=Ur(
n,["format","issuer","key_sets"],...If);if(r!==Br)throw new Te("unknown format or version; update this program");if(typeof o!="string"||!wn(o,et))throw new Te("\
the issuer must be 1 to 255 bytes without control characters");if(!Array.isArray(f)||f.length<1||f.length>kf)throw new Te("a trust root holds 1 to 64 key sets; \
drop the oldest retired ones");let c=f.map(Na);if(vf(c))throw new Te("a key set is listed twice; list it once with its current status");return new t(o,c,La(n))}},
If=["version","previous","cosignatures"];function La(t){let[e,n,r]=If.map(c=>t.get(c)??null);if(e===null&&n===null&&r===null)return Uf;let o=typeof n=="string"?
Rf(n):void 0;if(typeof e!="bigint"||e<2n||o===void 0||!Array.isArray(r))throw new Te("version 1 has neither version, previous nor cosignatures; later ones have \
all three");if(r.length>Bf)throw new Te("a trust root has at most 4 cosignatures");let f=r.map(Ba);return{version:e,previous:o,cosignatures:f}}function Ba(t){let[
e,...n]=Ur(t,["key_set",...St.map(f=>f.id)]),r=typeof e=="string"?Rf(e):void 0;if(r===void 0)throw new Te("a key set's id is 64 lower-case hexadecimal digits");
let o=Nt(f=>Ff(n[St.indexOf(f)],f,f.signatureBytes));return{keySetId:r,signatures:o}}function Rf(t){if(/^[0-9a-f]{64}$/.test(t))return Uint8Array.from({length:32},
(e,n)=>Number.parseInt(t.slice(2*n,2*n+2),16))}function Ua(t){let e=t.offset,n=t.uint("trust_root.version"),r=t.bytes("trust_root.previous",32),o=t.array("trust\
_root.cosignatures",0,Bf),f=Array.from({length:o},()=>(t.array("trust_root.cosignature",4),{keySetId:t.bytes("trust_root.cosignature.key_set",32),signatures:Nt(
s=>t.bytes("trust_root.cosignature",s.signatureBytes))}));if(n<2n)throw t.outOfRange("trust_root.version",e);return{version:n,previous:r,cosignatures:f}}function vf(t){
return new Set(t.map(e=>yt(e.id))).size!==t.length}function Nf(t){let e=new at;return Mf(e,t),Object.freeze({id:Lt(e.finish()),...t})}function Mf(t,e){t.array(6).
text(Lf);for(let n of St)t.bytes(e.publicKeys[n.id]);t.uint(e.notBefore).uint(e.notAfter)}function Ia(t){t.array("trust_root.key_set",3),t.array("key_set",6),t.
format("key_set.format",Lf);let e=Nt(h=>t.bytes(`key_set.${h.id}`,h.publicKeyBytes)),n=t.uint("key_set.not_before"),r=t.offset,o=t.uint("key_set.not_after");if(n>=
o)throw t.outOfRange("key_set.not_after",r);let f=t.offset,c=t.uint("trust_root.status"),s=t.uint("trust_root.since"),i=Ra(c,s);if(i===void 0)throw t.outOfRange(
"trust_root.status",f);return Nf({publicKeys:e,notBefore:n,notAfter:o,status:i})}function Ra(t,e){if(t===0n&&e===0n)return{state:"active"};if(t===1n)return{state:"\
retired",since:e};if(t===2n)return{state:"revoked",since:e}}function Na(t){let e=["id","status","not_before","not_after",...St.map(E=>E.id)],[n,r,o,f,...c]=Ur(t,
e,"since"),s=t.get("since")??null,i=Nt(E=>Fa(c[St.indexOf(E)],E));if(typeof o!="bigint"||typeof f!="bigint"||o>=f)throw new Te("a key set's not_before must be e\
arlier than its not_after");let h=Nf({publicKeys:i,notBefore:o,notAfter:f,status:Ma(r,s)});if(yt(h.id)===n)return h;throw new Te("a key set's id does not match \
its keys; fetch the file again")}function Ma(t,e){if(t==="active"&&e===null)return{state:t};if((t==="retired"||t==="revoked")&&typeof e=="bigint")return{state:t,
since:e};throw new Te("status is active without since, or retired or revoked with since")}function Fa(t,e){return Ff(t,e,e.publicKeyBytes)}function Ff(t,e,n){let r=typeof t==
"string"?gn(t):void 0;if(r?.length!==n)throw new Te(`${e.id} is not unpadded base64url of the right length`);return r}function Ur(t,e,...n){if(!(t instanceof Map))
throw new Te("unexpected JSON: an object belongs here");for(let r of t.keys())if(!n.includes(r)&&!e.includes(r))throw new Te(`unexpected JSON: unknown field ${JSON.
stringify(r)}`);return e.map(r=>{if(!t.has(r))throw new Te(`unexpected JSON: field ${r} is missing`);return t.get(r)})}var Ca=60,Ir=10,Rr=Symbol("trefoil: dangerous: any nonce"),Cf={trustRoot:!0,audience:!0,nonce:!0,tenant:!1,account:!1,requestDigest:!1,decision:!1,probeMode:!1,
proofLevel:!1,acceptNoProof:!1,policyVersion:!1,fmrClass:!1,clockSkew:!1},Gt=class{trustRoot;audience;nonce;tenant;account;requestDigest;decision;probeMode;proofLevel;policyVersion;fmrClass;clockSkew;constructor(e){
Ha(e);let{trustRoot:n,audience:r,nonce:o,tenant:f,account:c,requestDigest:s}=e,{decision:i="match",probeMode:h,proofLevel:E,policyVersion:g,fmrClass:A=0}=e,{acceptNoProof:_=!1,
clockSkew:S=Ir}=e;if(!(n instanceof Ge))throw new TypeError("trustRoot must be a TrustRoot");if(typeof r!="string"||!wn(r,et))throw new TypeError("audience must\
 be text of 1 to 255 bytes without control characters");if(i!=="match"&&i!=="any")throw new TypeError('decision must be "match" or "any"');if(h!==void 0&&h!=="p\
lain"&&h!=="shared")throw new TypeError('probeMode must be "plain" or "shared"');if(typeof _!="boolean")throw new TypeError("acceptNoProof must be true or false");
if(_&&E!==void 0)throw new TypeError("proofLevel requires a proof and acceptNoProof none; leave one of them out");this.trustRoot=n,this.audience=r,this.nonce=o===
Rr?o:jn("nonce",o,kr,Or),this.tenant=f===void 0?void 0:jn("tenant",f,16),this.account=c===void 0?void 0:jn("account",c,32),this.requestDigest=s===void 0?void 0:
jn("requestDigest",s,32),this.decision=i==="any"?void 0:i,this.probeMode=h,this.proofLevel=_?void 0:hn("proofLevel",E??0,bn),this.policyVersion=g===void 0?void 0:
Object.freeze({id:hn("policyVersion.id",g.id,Oe),version:hn("policyVersion.version",g.version,Oe)}),this.fmrClass=hn("fmrClass",A,bn),this.clockSkew=BigInt(hn("\
clockSkew",S,Ca)),Object.freeze(this)}};function Ha(t){for(let[e,n]of Object.entries(t)){if(!Object.hasOwn(Cf,e))throw new TypeError(`unknown requirement ${e}; \
correct its name`);if(n==null)throw new TypeError(`requirement ${e} has no value; leave it out where it is not required`)}for(let[e,n]of Object.entries(Cf))if(n&&
!Object.hasOwn(t,e))throw new TypeError(`requirement ${e} is missing`)}function jn(t,e,n,r=n){if(!Ft(e)||e.length<n||e.length>r){let o=n===r?`${n}`:`${n} to ${r}`;
throw new TypeError(`${t} must be a Uint8Array of ${o} bytes`)}return new Uint8Array(e)}function hn(t,e,n){if(!Number.isInteger(e)||e<0||e>n)throw new RangeError(
`${t} must be a whole number from 0 to ${n}`);return e}var Me=class t extends Error{name="VerifyError";code;seal;constructor(e,n,r={}){super(n,r.cause&&{cause:r.cause}),this.code=e,this.seal=r.seal}static undecodable(e){
return e.problem==="unknown-suite"?new t("unknown-suite",e.explanation,{cause:e}):new t("malformed",`not a valid attestation: ${e.message}`,{cause:e})}static signature(e){
return new t(`signature-${e.id}`,`the ${e.name} signature does not verify; do not accept`)}};var Pa=[Mn,Tt,Fn],Pf,Hf=class t{statement;statementDigest;leafIndex;seal;constructor(e,n,r,o){this.statement=e,this.statementDigest=n,this.leafIndex=r,this.seal=
o,Object.freeze(this)}static{Pf=(...e)=>new t(...e)}};function jf(t,e,n){$f(e,n);let r=Mt(()=>lt(t)),{evidence:o}=r;if(o.form==="full")return Kf(r,o.seal,e,n);let{
sealNumber:f}=o.reference,c=`compact attestation; fetch seal ${f} from the issuer and pass it too`;throw new Me("seal-needed",c,{seal:o.reference})}function Df(t,e,n,r){
if($f(n,r),!(e instanceof tt))throw new TypeError("seal must be a Seal; make one with Seal.decode");let o=Mt(()=>lt(t)),{evidence:f}=o,c=f.form==="full"?f.seal.
reference():f.reference;if(Fr(c,e.reference()))return Kf(o,e,n,r);let s=`the seal passed is not the one named; fetch seal ${c.sealNumber} from the issuer`;throw new Me(
"other-seal",s,{seal:c})}function Nr(t,e){if(!(t instanceof tt))throw new TypeError("seal must be a Seal; make one with Seal.decode");if(!(e instanceof Ge))throw new TypeError(
"trustRoot must be a TrustRoot");let{header:n}=t;if(n.issuer!==e.issuer)throw Dn(n.issuer);let{publicKeys:r}=Ka(n,e);for(let o of Pa)if(!t.isSignedBy(o,r[o.id]))
throw Me.signature(o)}function $f(t,e){if(!(t instanceof Gt))throw new TypeError("policy must be a Policy");Mr(e)}function Mr(t){if(!Number.isSafeInteger(t)||t<
0)throw new RangeError("now must be whole Unix seconds")}function Mt(t){try{return t()}catch(e){throw e instanceof Xe?Me.undecodable(e):e}}function Fr(t,e){return t.
sealNumber===e.sealNumber&&He(t.digest,e.digest)}function se(t,e,n){if(t)throw new Me(e,n)}function Kf(t,e,n,r){let o=Mt(()=>Hn(t.statement)),{header:f}=e;ja(o,
n),Da(o,n),$a(o,f,n.clockSkew,BigInt(r));let{leafIndex:c,treeSize:s,path:i}=t;se(f.suite!==o.suite,"suite-mismatch","statement and seal name different suites; d\
o not accept"),se(f.treeSize!==s,"tree-size-mismatch","attestation and seal name different tree sizes; do not accept");let h=Cn(t.statement);return se(!Pn(h,c,s,
i,f.root),"not-in-tree","the statement is not in the sealed tree; do not accept"),Nr(e,n.trustRoot),Pf(o,h,c,f)}function Dn(t){return new Me("issuer",`issued by\
 ${t}, not by the trust root's issuer; do not accept`)}function ja(t,e){let{issuer:n,audience:r}=t,{nonce:o,tenant:f,account:c,requestDigest:s}=e;if(n!==e.trustRoot.
issuer)throw Dn(n);se(r!==e.audience,"audience",`made for ${r}, not for this relying party; do not accept`),se(o!==Rr&&!He(o,t.nonce),"nonce","the nonce is not \
the one issued; treat as a replay"),se(f!==void 0&&!He(f,t.tenant),"tenant","another tenant than required; do not accept"),se(c!==void 0&&!He(c,t.account),"acco\
unt","another account than required; do not accept"),se(s!==void 0&&!He(s,t.requestDigest),"request-digest","made for another request; do not accept")}function Da(t,e){
let{decision:n,probeMode:r,proof:o,policyId:f,policyVersion:c,fmrClass:s}=t,{proofLevel:i,policyVersion:h}=e;se(e.decision!==void 0&&e.decision!==n,"decision",`\
the decision is ${n}; nobody was authenticated`),se(e.probeMode!==void 0&&e.probeMode!==r,"probe-mode",`probe mode ${r} is not the required one`),se(i!==void 0&&
o===void 0,"no-proof","no credential proof: the tenant's application alone vouched for the request; do not accept, unless your policy says that this is enough"),
se(i!==void 0&&o!==void 0&&o.level<i,"proof-level","the credential proof is below the required level; ask for a step-up"),se(h!==void 0&&(f!==h.id||c<h.version),
"policy-version","made under another policy or an older version; authenticate again"),se(s<e.fmrClass,"fmr-class",`false-match class ${s} is weaker than require\
d`)}function $a(t,e,n,r){let{issuedAt:o,expiresAt:f}=t,c=r+n;se(o>c,"not-yet-valid",`issued at ${o}, in the future; check the clocks`),se(r>=f+n,"expired",`expi\
red at ${f}; authenticate again`),se(e.time>c||e.time+n<o,"seal-time",`sealed at ${e.time}, before its statement or in the future`)}function Ka(t,e){let{keySetId:n,
time:r}=t,o=`key set ${yt(n)}`,f=e.keySet(n);if(f===void 0){let h=`${o} is not in the trust root; update it from the issuer`;throw new Me("unknown-key-set",h)}let{
status:c,notBefore:s,notAfter:i}=f;if(c.state!=="active"){let{state:h,since:E}=c;se(h==="revoked","revoked-key-set",`${o} is revoked since ${E}; do not accept`),
se(r>=E,"retired-key-set",`${o} was retired at ${E}, before this seal; do not accept`)}return se(r<s||r>=i,"key-set-validity",`sealed at ${r}, outside the valid\
ity of ${o}`),f}var zf=255,za=64,qa="trefoil:change/1",qf=["enrolled","erased","root_published","policy_changed","session_opened","session_ended","tenant_created","tenant_disab\
led","tenant_enabled","api_key_created","api_key_revoked","issuer_key_registered","key_rotation_begun","key_rotation_ended","malformed_reset","operator_created",
"operator_revoked","operator_token_created","operator_token_revoked","refused","tenant_deleted","attempts_reset","replaced","revoked"];function Yf(t){let e=De.of("change",t,dn);e.map("change",5);let n=e.key("iss",1).text("iss",et),r=e.key("iat",6).uint("iat"),o=e.key("cti",7).bytes("cti",16);e.
key("eat_profile",265).format("eat_profile",qa);let f=e.key("trefoil",Vt).map("trefoil",4,5),c=un(e.key("suite",1)),s=e.key("tenant",2).bytes("tenant",16),i=e.key(
"kind",3).uint("kind"),h=Object.freeze(Ga(i,e.key("what",4))),E=f===5?Object.freeze(Va(e.key("by",5))):void 0;return e.finish("change"),Object.freeze({suite:c,issuer:n,
tenant:s,changedAt:r,salt:o,what:h,by:E})}function Va(t){return t.array("by",2),{operator:t.bytes("by.operator",8),name:t.text("by.name",za)}}function Wf(t){try{
return Yf(lt(t).statement)}catch(e){if(e instanceof Xe)return;throw e}}function Ga(t,e){let n=e.offset;switch(t){case 1n:return e.array("what",3),{kind:"enrolle\
d",handle:e.bytes("what.handle",32),generation:e.number("what.generation",Oe),consent:e.bytes("what.consent",32)};case 2n:return e.array("what",2),{kind:"erased",
handle:e.bytes("what.handle",32),generation:e.number("what.generation",Oe)};case 3n:return e.array("what",4),{kind:"root_published",generation:e.number("what.ge\
neration",Oe),generationMin:e.number("what.generation_min",Oe),root:e.bytes("what.root",32),head:e.bytes("what.head",32)};case 4n:return e.array("what",3),{kind:"\
policy_changed",policyId:e.number("what.policy_id",Oe),policyVersion:e.number("what.policy_version",Oe),policyDigest:e.bytes("what.digest",32)};case 5n:return e.
array("what",2),{kind:"session_opened",session:e.bytes("what.session",32),expiresAt:e.uint("what.expires_at")};case 6n:return e.array("what",1),{kind:"session_e\
nded",session:e.bytes("what.session",32)};case 23n:return e.array("what",4),{kind:"replaced",handle:e.bytes("what.handle",32),generation:e.number("what.generati\
on",Oe),replaced:e.number("what.replaced",Oe),consent:e.bytes("what.consent",32)};case 24n:return e.array("what",2),{kind:"revoked",handle:e.bytes("what.handle",
32),generation:e.number("what.generation",Oe)};default:return Ya(t,e,n)}}function Ya(t,e,n){let r=Vf(t);switch(r){case"tenant_created":return e.array("what",1),
{kind:r,policyDigest:e.bytes("what.digest",32)};case"tenant_disabled":case"tenant_enabled":case"malformed_reset":case"attempts_reset":return e.array("what",0),{
kind:r};case"api_key_created":return e.array("what",2),{kind:r,apiKey:e.bytes("what.key",8),scopes:e.number("what.scopes",zf)};case"api_key_revoked":return e.array(
"what",1),{kind:r,apiKey:e.bytes("what.key",8)};case"issuer_key_registered":return e.array("what",1),{kind:r,issuerKey:e.bytes("what.key",32)};case"key_rotation\
_begun":case"key_rotation_ended":return e.array("what",1),{kind:r,epoch:e.number("what.epoch",Oe)};case"operator_created":return e.array("what",2),{kind:r,operator:e.
bytes("what.operator",8),role:e.number("what.role",zf)};case"operator_revoked":return e.array("what",1),{kind:r,operator:e.bytes("what.operator",8)};case"operat\
or_token_created":case"operator_token_revoked":return e.array("what",2),{kind:r,operator:e.bytes("what.operator",8),token:e.number("what.token",Oe)};case"refuse\
d":{e.array("what",1);let o=e.offset,f=Vf(e.uint("what.action"));if(f===void 0||f==="refused")throw e.outOfRange("what.action",o);return{kind:r,action:f}}case"t\
enant_deleted":return e.array("what",1),{kind:r,templates:e.uint("what.templates")};default:throw e.outOfRange("kind",n)}}function Vf(t){return t>BigInt(qf.length)?
void 0:qf[Number(t)-1]}var Xf,Gf=class t{change;digest;leafIndex;seal;constructor(e,n,r,o){this.change=e,this.digest=n,this.leafIndex=r,this.seal=o,Object.freeze(
this)}static{Xf=(...e)=>new t(...e)}};function Jf(t,e,n,r){Qf(e,n,r);let o=Mt(()=>lt(t)),{evidence:f}=o;if(f.form==="full")return ec(o,f.seal,e,n,r);let{sealNumber:c}=f.
reference,s=`compact receipt; fetch seal ${c} from the issuer and pass it too`;throw new Me("seal-needed",s,{seal:f.reference})}function Zf(t,e,n,r,o){if(Qf(n,r,
o),!(e instanceof tt))throw new TypeError("seal must be a Seal; make one with Seal.decode");let f=Mt(()=>lt(t)),{evidence:c}=f,s=c.form==="full"?c.seal.reference():
c.reference;if(Fr(s,e.reference()))return ec(f,e,n,r,o);let i=`the seal passed is not the one named; fetch seal ${s.sealNumber} from the issuer`;throw new Me("o\
ther-seal",i,{seal:s})}function Qf(t,e,n){if(!(t instanceof Ge))throw new TypeError("trustRoot must be a TrustRoot");if(e!==void 0&&!(Ft(e)&&e.length===16))throw new TypeError(
"tenant must be a Uint8Array of 16 bytes, or undefined");Mr(n)}function ec(t,e,n,r,o){let f=Mt(()=>Yf(t.statement)),{header:c}=e;if(f.issuer!==n.issuer)throw Dn(
f.issuer);se(r!==void 0&&!He(f.tenant,r),"tenant","another tenant than required; do not accept");let s=BigInt(Ir),{changedAt:i}=f,h=BigInt(o)+s;se(i>h,"not-yet-\
valid",`done at ${i}, in the future; check the clocks`),se(c.time>h||c.time+s<i,"seal-time",`sealed at ${c.time}, before its change or in the future`);let{leafIndex:E,
treeSize:g,path:A}=t;se(c.suite!==f.suite,"suite-mismatch","change and seal name different suites; do not accept"),se(c.treeSize!==g,"tree-size-mismatch","recei\
pt and seal name different tree sizes; do not accept");let _=Cn(t.statement);return se(!Pn(_,E,g,A,c.root),"not-in-tree","the change is not in the sealed tree; \
do not accept"),Nr(e,n),Xf(f,_,E,c)}var Ye=class extends Error{name="InputError"};function nc(t){let e=Cr(t);if(e===void 0||e==="")return t;if(e.startsWith("{")){let n=Wa(e),r=typeof n=="string"?tc(
n):void 0;if(r===void 0)throw new Ye("This JSON has no field \u201Cattestation\u201D with base64 in it, alone or in \u201Creceipt\u201D.");return r}return tc(e)??
t}function rc(t){let e=t.trim().toLowerCase();if(!/^(?:[0-9a-f]{2}){16,64}$/.test(e))throw new Ye("The nonce is 32 to 128 hexadecimal digits: the one that you i\
ssued for this login.");return Uint8Array.from({length:e.length/2},(n,r)=>Number.parseInt(e.slice(2*r,2*r+2),16))}function Cr(t){try{return new TextDecoder("utf\
-8",{fatal:!0}).decode(t).trim()}catch{return}}function Wa(t){try{let e=JSON.parse(t);return e.attestation??e.receipt?.attestation}catch{throw new Ye("This begi\
ns like JSON and is not JSON: copy all of it.")}}function tc(t){let e=t.replace(/\s/g,"").replaceAll("+","-").replaceAll("/","_").replace(/={1,2}$/,"");return gn(
e)}var Xa="No credential proof: that the request was this person's is the word of the tenant's application alone. A relying party that expects a proof must not acc\
ept it.";function oc(t,e){let{statement:n,seal:r}=t,o=n.decision==="match",f=ve("div","",`outcome ${o?"good":"attested-denial"}`),c=n.proof===void 0?", without \
a credential proof":"";return f.append(ve("h2",`${o?"Verified: match":"Verified: no match"}${c}`),ve("p",o?"The holder of this account was authenticated.":"The \
service attests a denial: nobody was authenticated.")),n.proof===void 0&&f.append(ve("p",Xa)),f.append(...cc(e)),f.append(ac([["Issuer",n.issuer],["Audience",n.
audience],["Account",n.account],["Proof",n.proof===void 0?"none":`level ${n.proof.level}`],["Session",n.proof?.session??"none"],["Tenant",n.tenant],["Nonce",n.nonce],
["Issued",yn(n.issuedAt)],["Expires",yn(n.expiresAt)],...sc(r,t.leafIndex)]),ve("p","Keep the account: it is the same at every login of this person here. Sessio\
n and nonce are not.")),f}function fc(t,e){let{change:n,seal:r}=t,{heading:o,details:f}=Ja(n.what),c=ve("div","","outcome good");return c.append(ve("h2",`Verifi\
ed receipt: ${o}`),ve("p",n.what.kind==="refused"?"The service attests that it refused this change, and changed nothing.":"The service attests that it made this\
 change. It says nothing about a login."),...cc(e),ac([["Issuer",n.issuer],["Tenant",n.tenant.every(s=>s===0)?"none: the service itself":n.tenant],...f,...n.by?
[["By",`${n.by.name} (${yt(n.by.operator)})`]]:[],["Done",yn(n.changedAt)],...sc(r,t.leafIndex)]),ve("p","Compare tenant and what was done with what you expect:\
 this page does not know it.")),c}function Ja(t){switch(t.kind){case"enrolled":return{heading:"subject enrolled",details:[["Subject",t.handle],["Generation",`${t.
generation}`],["Consent digest",t.consent]]};case"erased":return{heading:"subject erased",details:[["Subject",t.handle],["Generation",`${t.generation}`]]};case"\
root_published":return{heading:"credential root published",details:[["Generation",`${t.generation}, accepted from ${t.generationMin}`],["Credential root",t.root],
["Log head",t.head]]};case"policy_changed":return{heading:"policy changed",details:[["Policy",`${t.policyId} version ${t.policyVersion}`],["Policy digest",t.policyDigest]]};case"\
session_opened":return{heading:"session opened",details:[["Session",t.session],["Ends",yn(t.expiresAt)]]};case"session_ended":return{heading:"session ended",details:[
["Session",t.session]]};case"replaced":{let e=`${t.generation}, in place of ${t.replaced}`;return{heading:"template replaced",details:[["Subject",t.handle],["Ge\
neration",e],["Consent digest",t.consent]]}}case"revoked":return{heading:"subject revoked",details:[["Subject",t.handle],["Generation",`${t.generation}`]]};default:
return{heading:t.kind.replaceAll("_"," "),details:ei(t)}}}var Za=["unknown","viewer","operator","owner"],Qa=["enrol","authenticate","issue"];function ei(t){switch(t.
kind){case"tenant_created":return[["Policy digest",t.policyDigest]];case"tenant_disabled":case"tenant_enabled":case"malformed_reset":case"attempts_reset":return[];case"\
api_key_created":return[["API key",t.apiKey],["Scopes",Qa.filter((e,n)=>(t.scopes>>n)%2===1).join(", ")]];case"api_key_revoked":return[["API key",t.apiKey]];case"\
issuer_key_registered":return[["Issuer key",t.issuerKey]];case"key_rotation_begun":case"key_rotation_ended":return[["Epoch",`${t.epoch}`]];case"operator_created":
return[["Operator",t.operator],["Role",Za[t.role]??"unknown"]];case"operator_revoked":return[["Operator",t.operator]];case"operator_token_created":case"operator\
_token_revoked":return[["Operator",t.operator],["Token",`${t.token}`]];case"tenant_deleted":return[["Templates destroyed",`${t.templates}`]];case"refused":return[
["Change",t.action.replaceAll("_"," ")]]}}function cc(t){let e=ve("ul","");return e.append(...St.map(({name:r})=>ve("li",`${r} signature verifies`))),t?[e,ve("p",
"The trust root came from this server. That shows consistency, not who the issuer is.")]:[e]}function sc(t,e){return[["Sealed",`${yn(t.time)}, seal ${t.sealNumber}`],
["Root",t.root],["Place",`leaf ${e} of ${t.treeSize}`],["Key set",t.keySetId]]}function ac(t){let e=ve("dl","");for(let[n,r]of t){let o=typeof r=="string"?ve("d\
d",r):ve("dd",yt(r),"bytes");e.append(ve("dt",n),o)}return e}function pn(t,e,n){let r=ve("div","","outcome refused");return r.setAttribute("role","alert"),r.append(
ve("h2",t),ve("p",e)),n!==void 0&&r.append(ve("p",`Code: ${n}`)),r}function yn(t){let e=new Date(Number(t)*1e3);return Number.isNaN(e.getTime())?`${t} s`:e.toISOString().
replace(".000Z","Z")}function ve(t,e,n=""){let r=document.createElement(t);return r.textContent=e,n!==""&&(r.className=n),r}var ti=512*1024,Hr=We("form",HTMLFormElement),$n=We("outcome",HTMLElement),Pr=We("attestation",HTMLTextAreaElement),dc=We("attestation-state",HTMLElement),Kn=We(
"trust-root",HTMLTextAreaElement),jr,zn;function We(t,e){let n=document.getElementById(t);if(!(n instanceof e))throw new Error(`the page has no ${t}`);return n}
function Dr(t){return String(new FormData(Hr).get(t))}async function ni(){let t=jr??new TextEncoder().encode(Pr.value);if(t.length===0)throw new Ye("Paste an at\
testation, or drop a file.");let e=nc(t),n=Wf(e);return n===void 0?ri(e):oi(e,n)}async function ri(t){let e=We("audience",HTMLInputElement).value.trim();if(e===
"")throw new Ye("Enter the audience: the relying party that the attestation must be for.");let n=rc(We("nonce",HTMLInputElement).value),r=await bc(),o=new Gt({trustRoot:r,
audience:e,nonce:n,decision:"any",acceptNoProof:!0}),f=uc(()=>si(t)),c=await lc(()=>jf(t,o,f),s=>Df(t,s,o,f));return oc(c,$r())}async function oi(t,e){let n=await bc(),
r=uc(()=>Number(e.changedAt)),o=await lc(()=>Jf(t,n,void 0,r),f=>Zf(t,f,n,void 0,r));return fc(o,$r())}function $r(){return Dr("root")==="served"}async function bc(){
return $r()?fi():ci()}function uc(t){return Dr("time")==="issued"?t():Math.floor(Date.now()/1e3)}async function lc(t,e){try{return t()}catch(n){if(!(n instanceof
Me)||n.code!=="seal-needed"||n.seal===void 0)throw n;let r=await hc(`/v1/seals/${n.seal.sealNumber}`,`seal ${n.seal.sealNumber}`);return e(tt.decode(new Uint8Array(
await r.arrayBuffer())))}}async function fi(){let t=await hc("/v1/keys","the trust root");return Ge.fromJson(await t.text())}function ci(){if(zn!==void 0)return Ge.
decode(zn);if(Kn.value.trim()==="")throw new Ye("Paste your trust root, or choose its file.");return Ge.fromJson(Kn.value)}async function hc(t,e){let n=await fetch(
t,{credentials:"omit"}).catch(()=>{});if(n?.ok)return n;throw new Ye(`This server did not give ${e}${n?` (status ${n.status})`:""}; try again.`)}function si(t){
try{return Number(Hn(lt(t).statement).issuedAt)}catch(e){throw e instanceof Xe?Me.undecodable(e):e}}function Kr(t){return t instanceof Me?pn("Not verified",t.message,
t.code):t instanceof Te||t instanceof Xe?pn("The trust root cannot be read",t.message):t instanceof Ye?pn("Nothing was verified yet",t.message):pn("Nothing was \
verified",`Unexpected: ${String(t)}`)}async function yc(t,e){if(t.size>ti)throw new Ye(`${t.name} is too large: ${t.size} bytes.`);let n=new Uint8Array(await t.
arrayBuffer()),r=Cr(n),o=r!==void 0&&/^[\x20-\x7e\s]*$/.test(r);return e.value=o?r:"",o?void 0:n}async function pc(t){if(t!==void 0)try{jr=await yc(t,Pr),dc.textContent=
`${t.name}, ${t.size} bytes`}catch(e){$n.replaceChildren(Kr(e))}}Hr.addEventListener("submit",async t=>{t.preventDefault(),$n.replaceChildren(await ni().catch(Kr)),
$n.focus()});Hr.addEventListener("change",()=>{let t=Dr("root")==="own";We("own-root",HTMLElement).hidden=!t,We("served-note",HTMLElement).hidden=t});Pr.addEventListener(
"input",()=>{jr=void 0,dc.textContent=""});Kn.addEventListener("input",()=>{zn=void 0});We("attestation-file",HTMLInputElement).addEventListener("change",t=>{pc(
t.currentTarget.files?.[0])});We("trust-root-file",HTMLInputElement).addEventListener("change",async t=>{let e=t.currentTarget.files?.[0];try{e!==void 0&&(zn=await yc(
e,Kn))}catch(n){$n.replaceChildren(Kr(n))}});var ic=We("drop",HTMLElement);for(let t of["dragover","dragleave","drop"])ic.addEventListener(t,e=>{e.preventDefault(),
ic.classList.toggle("over",t==="dragover"),t==="drop"&&pc(e.dataTransfer?.files[0])});
