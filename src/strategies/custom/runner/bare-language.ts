import { Module } from 'node:module'

/** Globals that a module keeps. An allow-list, so that new access to network, files or timers stays out. */
const LANGUAGE = new Set(
  (
    'Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Date Promise RegExp ' +
    'Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError globalThis ' +
    'JSON Math Intl ArrayBuffer SharedArrayBuffer Atomics DataView Uint8Array Int8Array Uint16Array Int16Array ' +
    'Uint32Array Int32Array BigUint64Array BigInt64Array Uint8ClampedArray Float16Array Float32Array Float64Array ' +
    'Map BigInt Set Iterator WeakMap WeakSet WeakRef Proxy Reflect FinalizationRegistry DisposableStack ' +
    'AsyncDisposableStack decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN'
  ).split(' '),
)

/** Fields of `process` that Node itself reads; modules cannot reach it. */
const PROCESS = new Set(
  (
    'version versions arch platform release _events _eventsCount _maxListeners domain _exiting exitCode config ' +
    'reallyExit emitWarning nextTick _tickCallback _fatalException cwd env argv execArgv execPath features pid title'
  ).split(' '),
)

/** Parts of Node's loader needed to resolve package names. The rest could load parts of Node. */
const LOADER = new Set(
  (
    'length name prototype _cache _pathCache _extensions globalPaths _findPath _nodeModulePaths _resolveLookupPaths ' +
    '_resolveFilename'
  ).split(' '),
)

/** Removes everything but the language and a console that writes to the daemon's log. Irreversible. */
export function leaveBareLanguage(say: (...words: readonly unknown[]) => void): void {
  keepOnly(process, PROCESS)
  keepOnly(Module, LOADER)
  keepOnly(Module.prototype, new Set(['constructor']))
  keepOnly(globalThis, LANGUAGE)
  const left = Object.getOwnPropertyNames(globalThis).find((name) => !LANGUAGE.has(name))
  if (left !== undefined) throw new Error(`this version of Node does not let go of ${left}`)
  const console = Object.fromEntries(
    ['debug', 'log', 'info', 'warn', 'error', 'trace', 'dir'].map((name) => [name, say]),
  )
  // Packages look for `global`, and read NODE_ENV of `process`.
  Object.assign(globalThis, { global: globalThis, process: { env: {} }, console })
  // A setter here would receive Node's own objects.
  Object.seal(Object.prototype)
  Object.seal(Function.prototype)
}

function keepOnly(owner: object, names: ReadonlySet<string>): void {
  for (const name of Reflect.ownKeys(owner))
    if (typeof name === 'string' && !names.has(name)) Reflect.deleteProperty(owner, name)
}
