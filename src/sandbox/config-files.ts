import { lstatSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Hex } from 'viem'
import { parse, stringify } from 'yaml'
import { isPrivateKey } from '../config/yaml/mask.ts'
import { makeDirectory } from '../system/directory.ts'
import { ifThereNow } from '../system/durable-file.ts'
import { outputFault, placeFile } from '../system/output-file.ts'
import { readRegular } from '../system/regular-file.ts'
import { type ConfigPlaces, operatorKeyFileOf } from './config-out.ts'
import { SandboxError } from './sandbox-error.ts'

/** Path beside the config and relative to it, so that a copy of the folder has its own anchor. */
const ANCHOR = 'trader.anchor'

type SandboxKeys = {
  readonly trader: { readonly privateKey: Hex }
  readonly operator: { readonly privateKey: Hex }
}

/**
 * Writes both throwaway keys with mode 0600.
 *
 * @throws {SandboxError} for an existing file that may not be replaced, or that holds another key with `reuse`
 */
export async function writeSandboxKeys(
  { trader, operator }: SandboxKeys,
  places: Pick<ConfigPlaces, 'keyFile'>,
  existing: Existing = 'refuse',
): Promise<void> {
  const keys = [
    [places.keyFile, trader.privateKey],
    [operatorKeyFileOf(places), operator.privateKey],
  ] as const
  for (const [file, key] of keys) {
    const held = existing === 'reuse' ? textIfThere(file) : undefined
    if (held === undefined) writePrivately(file, `${key}\n`, existing)
    else if (held.trim() !== key) throw notOverwritten(file, 'holds another key')
  }
}

type SandboxConfigFiles = ReturnType<typeof sandboxConfigFiles>

/** Absolute paths of the config and, in the same folder, both keys and their anchors. */
export function sandboxConfigFiles(file: string) {
  const config = resolve(file)
  const beside = (name: string): string => join(dirname(config), name)
  const keyFile = beside('trader.key')
  return {
    file: config,
    keyFile,
    operatorKeyFile: operatorKeyFileOf({ keyFile }),
    /** The first daemon that trades with a key creates its anchor. */
    anchor: beside(ANCHOR),
    operatorAnchor: beside('operator.anchor'),
  }
}

function notReplaced(file: string, why: string): SandboxError {
  return new SandboxError(
    `${file} ${why}: it is not replaced; give another place, or move it away yourself`,
  )
}

function notOverwritten(file: string, why = 'is there already'): SandboxError {
  return new SandboxError(
    `${file} ${why} and is not overwritten; give another place, or --force if nothing in it is needed`,
  )
}

/**
 * Checks, before a sandbox starts, that no file is lost. With `mayReplace` the config may be replaced, unless it holds a
 * private key. Keys and anchors may be replaced only if that config is a sandbox's.
 *
 * @throws {SandboxError} with the file and the remedy
 */
export function requirePlaces(files: SandboxConfigFiles, mayReplace: boolean): void {
  const { file, ...beside } = files
  if (Object.values(beside).includes(file))
    throw notReplaced(file, 'is the name of a key or an anchor beside the config')
  const found = Object.values(files).filter((each) => isThere(each))
  const [first] = found
  if (first === undefined) return
  if (!mayReplace) throw notOverwritten(first)
  const fault = outputFault(file, { what: 'a config', marker: '', force: true, kept: [] })
  if (fault !== undefined) throw notReplaced(file, `cannot be written: ${fault.message}`)
  const present = textIfThere(file)
  if (present !== undefined && isPrivateKey(present)) throw notReplaced(file, 'holds a private key')
  const kept = found.find((each) => each !== file)
  if (kept !== undefined && !isOfSandbox(present))
    throw notReplaced(kept, `is there, and ${file} is not the config of a sandbox that names it`)
}

/** Also true for a dangling link. */
function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}

/** Whether the text is a sandbox's config: only a sandbox's service is on loopback. */
function isOfSandbox(text: string | undefined): boolean {
  const url = namesIn(parsedOrNothing(text ?? '')).get('gasless.baseUrl') ?? ''
  return URL.canParse(url) && /^(?:localhost|127\.|\[::1\])/.test(new URL(url).hostname)
}

/**
 * Writes a config and, in the same folder, the throwaway keys (`trader.key`, `operator.key`), all with mode 0600. Resolves
 * directories from the working directory. `refuse` writes nothing if one of the files exists. `reuse` keeps files of the
 * same sandbox, edited or not, and writes the missing ones.
 *
 * @throws {SandboxError} for an existing file that may not be replaced, or with `reuse` for a file of another sandbox
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
  // The anchors belong to the replaced keys and their chain.
  if (existing === 'replace')
    for (const each of [files.anchor, files.operatorAnchor]) await rm(each, { force: true })
  if (held === undefined) writePrivately(files.file, stringify(config), existing)
  return files
}

type Existing = 'refuse' | 'replace' | 'reuse'

/** Names that every sandbox config has. */
const NAMING = ['gasless.baseUrl', 'gasless.permit2'] as const

/** Throws SandboxError for a config with another URL, address or chain. */
function requireSameSandbox(file: string, text: string, config: unknown): void {
  const own = namesIn(config)
  const found = namesIn(parsedOrNothing(text))
  const missing = NAMING.find((path) => !found.has(path))
  const different = [...found].find(([path, name]) => (own.get(path) ?? name) !== name)?.[0]
  const path = missing ?? different
  if (path !== undefined)
    throw notOverwritten(file, `is not the config of this sandbox (${path} differs)`)
}

function parsedOrNothing(text: string): unknown {
  try {
    return parse(text)
  } catch {
    // Not a sandbox's config.
    return undefined
  }
}

/** URLs, addresses and chain ids by path. The operator may change the rest of a config. */
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
  return ifThereNow(() => readRegular(file, FILE_BYTES_MAX))?.data.toString('utf8')
}

const FILE_BYTES_MAX = 1_048_576

/** The write is atomic, because other processes may wait for the file. */
function writePrivately(file: string, text: string, existing: Existing): void {
  try {
    placeFile(file, text, { mode: 0o600, replaces: existing === 'replace' })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw notOverwritten(file)
    throw error
  }
}
