import { createHash } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import Module from 'node:module'
import { join } from 'node:path'
import { Script } from 'node:vm'

type Parts = Readonly<Record<string, () => unknown>>
type Wrapped = (
  exports: Parts,
  require: unknown,
  module: unknown,
  file: string,
  dir: string,
) => void

/** Set by scripts/build.mjs: the SHA-256 of each bundle. */
declare const BUNDLE_HASHES: Readonly<Record<string, string>>

/** A daemon has begun its first job by then, so the cache has the code of a start. */
const MADE_AFTER_MS = 5_000
const DIGEST_BYTES = 32
const WRITABLE_BY_OTHERS = 0o022

/**
 * Loads a bundle with V8's code cache, which saves compiling. Without a cache, or with one of another build or version, it only
 * takes longer. `keeps` makes a missing cache from what this process compiles.
 */
export function loadProgram(bundle: string, { keeps }: { readonly keeps: boolean }): Parts {
  const dir = import.meta.dirname
  const file = join(dir, bundle)
  const source = readFileSync(file, 'latin1')
  const wrapped = process.sourceMapsEnabled
    ? compileModule(source, file)
    : compileScript(source, { file, bundle, keeps })
  const module = { exports: {} }
  wrapped(module.exports, Module.createRequire(file), module, file, dir)
  return module.exports
}

/** Node reads the source maps of modules only. */
function compileModule(source: string, file: string): Wrapped {
  const module = Object.assign(new Module(file), { filename: file }) as Module & {
    _compile(source: string, file: string): void
  }
  module._compile(`module.exports=${source}`, file)
  return module.exports
}

function compileScript(
  source: string,
  { file, bundle, keeps }: Record<'file' | 'bundle', string> & { readonly keeps: boolean },
): Wrapped {
  /** Covers the bundle's hash, because V8 compares only the length of a source. */
  const digestOf = (data: Buffer): Buffer =>
    createHash('sha256')
      .update(BUNDLE_HASHES[bundle] ?? '')
      .update(data)
      .digest()
  const owner = statSync(file).uid
  const cache = `${file}.${process.versions.v8}-${process.arch}.cache`
  const cachedData = readCache(cache, { owner, digestOf })
  // A cache keeps this name, wherever it is used later.
  const script = new Script(source, { filename: `dist/${bundle}`, cachedData })
  if (keeps && cachedData === undefined && process.getuid?.() === owner) {
    const timer = setTimeout(keep, MADE_AFTER_MS).unref()
    process.once('exit', atEnd)
    function atEnd(code: number): void {
      if (code === 0) keep()
    }
    function keep(): void {
      clearTimeout(timer)
      process.off('exit', atEnd)
      const data = script.createCachedData()
      writeCache(cache, Buffer.concat([digestOf(data), data]))
    }
  }
  return script.runInThisContext()
}

/**
 * A cache runs as code, and V8 checks little of it. So it must belong to the bundle's owner, be writable by nobody else, and
 * have its digest.
 */
function readCache(
  file: string,
  { owner, digestOf }: { readonly owner: number; readonly digestOf: (data: Buffer) => Buffer },
): Buffer | undefined {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch {
    return undefined
  }
  try {
    const { uid, mode } = fstatSync(fd)
    if (uid !== owner || (mode & WRITABLE_BY_OTHERS) !== 0) return undefined
    const bytes = readFileSync(fd)
    const data = bytes.subarray(DIGEST_BYTES)
    return digestOf(data).equals(bytes.subarray(0, DIGEST_BYTES)) ? data : undefined
  } finally {
    closeSync(fd)
  }
}

/** An installation that cannot be written stays without a cache. */
function writeCache(file: string, bytes: Buffer): void {
  const fresh = `${file}.new`
  try {
    const fd = openSync(fresh, 'w', 0o644)
    try {
      writeFileSync(fd, bytes)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(fresh, file)
  } catch {
    // The next start tries again.
  }
}
