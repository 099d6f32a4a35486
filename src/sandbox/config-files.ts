import { lstatSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Hex } from 'viem'
import { parse, stringify } from 'yaml'
import { isPrivateKey } from '../config/yaml/mask.ts'
import { OperatorError } from '../domain/errors.ts'
import { makeDirectory } from '../files/directory.ts'
import { outputFault, placeFile } from '../files/output-file.ts'
import { readRegular } from '../files/regular-file.ts'
import { type ConfigPlaces, operatorKeyFileOf } from './config-out.ts'

/** Beside the config, and named from there, so that a copy of the folder has an anchor of its own. */
const ANCHOR = 'trader.anchor'

type SandboxKeys = {
  readonly trader: { readonly privateKey: Hex }
  readonly operator: { readonly privateKey: Hex }
}

/**
 * Writes both throwaway keys where a config with these places looks for them, 0600.
 *
 * @throws {FileExistsError} if a file is there already that may not be replaced, or `reuse` finds another key in it
 */
export async function writeSandboxKeys(
  { trader, operator }: SandboxKeys,
  places: Pick<ConfigPlaces, 'keyFile' | 'operatorKeyFile'>,
  existing: Existing = 'refuse',
): Promise<void> {
  const keys = [
    [places.keyFile, trader.privateKey],
    [operatorKeyFileOf(places), operator.privateKey],
  ] as const
  for (const [file, key] of keys) {
    const held = existing === 'reuse' ? textIfThere(file) : undefined
    if (held === undefined) writePrivately(file, `${key}\n`, existing)
    else if (held.trim() !== key) throw new FileExistsError(file, 'holds another key')
  }
}

/** The files that a written config consists of: the config itself and, beside it, both keys and their anchors. */
export type SandboxConfigFiles = {
  readonly file: string
  readonly keyFile: string
  readonly operatorKeyFile: string
  /** Made by the first daemon that trades with the keys. */
  readonly anchor: string
  readonly operatorAnchor: string
}

/** Absolute paths of what `writeSandboxConfig` writes for a config at `file`. */
export function sandboxConfigFiles(file: string): SandboxConfigFiles {
  const config = resolve(file)
  const beside = (name: string): string => join(dirname(config), name)
  const keyFile = beside('trader.key')
  return {
    file: config,
    keyFile,
    operatorKeyFile: operatorKeyFileOf({ keyFile }),
    anchor: beside(ANCHOR),
    operatorAnchor: beside('operator.anchor'),
  }
}

/** A file that is not overwritten on any word. */
class OtherPlaceError extends OperatorError {
  override readonly name = 'OtherPlaceError'
  readonly means = 'failed'
  constructor(file: string, why: string) {
    super(`${file} ${why}: it is not replaced; give another place, or move it away yourself`)
  }
}

/** A file that would have been overwritten. */
class FileExistsError extends OperatorError {
  override readonly name = 'FileExistsError'
  readonly means = 'failed'
  constructor(file: string, why = 'is there already') {
    super(
      `${file} ${why} and is not overwritten; give another place, or --force if nothing in it is needed`,
    )
  }
}

/**
 * Refuses what would overwrite a file, before a sandbox is started for it. With `mayReplace` keys and anchors give way that are
 * those of a sandbox, as the config between them says; others never do.
 *
 * @throws {FileExistsError} that names the file and the remedy
 */
export function requirePlaces(files: SandboxConfigFiles, mayReplace: boolean): void {
  const { file, ...beside } = files
  if (Object.values(beside).includes(file))
    throw new OtherPlaceError(file, 'is the name of a key or an anchor beside the config')
  const found = Object.values(files).filter((each) => isThere(each))
  const [first] = found
  if (first === undefined) return
  if (!mayReplace) throw new FileExistsError(first)
  const fault = outputFault(file, { what: 'a config', marker: '', force: true, kept: [] })
  if (fault !== undefined) throw new OtherPlaceError(file, `cannot be written: ${fault.message}`)
  const present = textIfThere(file)
  if (present !== undefined && isPrivateKey(present))
    throw new OtherPlaceError(file, 'holds a private key')
  const kept = found.find((each) => each !== file)
  if (kept !== undefined && !isOfSandbox(present))
    throw new OtherPlaceError(kept, `is there, and ${file} is no config of a sandbox that names it`)
}

/** A link that leads nowhere is there as well. */
function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}

/** No service but a sandbox's takes orders on loopback. */
function isOfSandbox(text: string | undefined): boolean {
  const url = namesIn(parsedOrNothing(text ?? '')).get('gasless.baseUrl') ?? ''
  return URL.canParse(url) && /^(?:localhost|127\.|\[::1\])/.test(new URL(url).hostname)
}

/**
 * Writes a config and, beside it, the throwaway keys (`trader.key`, `operator.key`), all 0600. Relative directories
 * are taken from the working directory, so that the config means the same wherever it is read from. A file that is there
 * already stays, and nothing is written, unless `existing` says `replace`. With `reuse` a config and keys of this very
 * sandbox stay as they are, whatever else somebody has changed in the config, and so do anchors; what is missing is written.
 *
 * @throws {FileExistsError} if one of the files is there already, or with `reuse` is not of this sandbox
 */
export async function writeSandboxConfig(options: {
  readonly sandbox: SandboxKeys & { config(places: ConfigPlaces): Record<string, unknown> }
  readonly file: string
  readonly stateDir: string
  readonly strategiesDir: string
  readonly httpPort?: number | undefined
  readonly existing?: Existing
}): Promise<SandboxConfigFiles> {
  const { existing = 'refuse' } = options
  const files = sandboxConfigFiles(options.file)
  if (existing !== 'reuse') requirePlaces(files, existing === 'replace')
  const config = options.sandbox.config({
    stateDir: resolve(options.stateDir),
    strategiesDir: resolve(options.strategiesDir),
    keyFile: files.keyFile,
    stateAnchor: `./${ANCHOR}`,
    httpPort: options.httpPort,
  })
  makeDirectory(dirname(files.file), 0o700)
  const held = existing === 'reuse' ? textIfThere(files.file) : undefined
  if (held !== undefined) requireSameSandbox(files.file, held, config)
  await writeSandboxKeys(options.sandbox, files, existing)
  // What they were of is gone: the chain of a run before, and the keys that it traded with.
  if (existing === 'replace')
    for (const each of [files.anchor, files.operatorAnchor]) await rm(each, { force: true })
  if (held === undefined) writePrivately(files.file, stringify(config), existing)
  return files
}

/** What becomes of a file that is in the way. */
type Existing = 'refuse' | 'replace' | 'reuse'

/** Without these a config is that of something else. */
const NAMING = ['gasless.baseUrl', 'gasless.permit2'] as const

/** Throws FileExistsError where a config names another URL, address or chain than this sandbox's. */
function requireSameSandbox(file: string, text: string, config: unknown): void {
  const own = namesIn(config)
  const found = namesIn(parsedOrNothing(text))
  const missing = NAMING.find((path) => !found.has(path))
  const different = [...found].find(([path, name]) => (own.get(path) ?? name) !== name)?.[0]
  const path = missing ?? different
  if (path !== undefined)
    throw new FileExistsError(file, `is no config of this sandbox (${path} is another)`)
}

function parsedOrNothing(text: string): unknown {
  try {
    return parse(text)
  } catch {
    // Whatever it is, it names no sandbox.
    return undefined
  }
}

/** URLs, addresses and chain ids by the path that they stand at. The rest of a config is its operator's. */
function namesIn(value: unknown, path = ''): Map<string, string> {
  if (typeof value === 'object' && value !== null)
    return new Map(
      Object.entries(value).flatMap(([key, item]) => [
        ...namesIn(item, path === '' ? key : `${path}.${key}`),
      ]),
    )
  const text = String(value)
  const isName = /^(?:https?:\/\/|0x[0-9a-fA-F]{40}$)/.test(text) || path.endsWith('.chainId')
  return new Map(isName ? [[path, text]] : [])
}

function textIfThere(file: string): string | undefined {
  try {
    return readRegular(file, FILE_BYTES_MAX).data.toString('utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Longer files are no config and no key. */
const FILE_BYTES_MAX = 1_048_576

/** Whoever waits for the file sees all of it or nothing. */
function writePrivately(file: string, text: string, existing: Existing): void {
  try {
    placeFile(file, text, { mode: 0o600, replaces: existing === 'replace' })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new FileExistsError(file)
    throw error
  }
}
