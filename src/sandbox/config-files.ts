import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Hex } from 'viem'
import { parse, stringify } from 'yaml'
import { OperatorError } from '../domain/errors.ts'
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
    const held = existing === 'reuse' ? await textIfThere(file) : undefined
    if (held === undefined) await writePrivately(file, `${key}\n`, existing)
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
 * Refuses what would overwrite a file, before a sandbox is started for it.
 *
 * @throws {FileExistsError} that names the file and the remedy
 */
export function requireNewFiles(files: SandboxConfigFiles): void {
  const found = Object.values(files).find((file) => existsSync(file))
  if (found !== undefined) throw new FileExistsError(found)
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
  if (existing === 'refuse') requireNewFiles(files)
  const config = options.sandbox.config({
    stateDir: resolve(options.stateDir),
    strategiesDir: resolve(options.strategiesDir),
    keyFile: files.keyFile,
    stateAnchor: `./${ANCHOR}`,
    httpPort: options.httpPort,
  })
  await mkdir(dirname(files.file), { recursive: true, mode: 0o700 })
  const held = existing === 'reuse' ? await textIfThere(files.file) : undefined
  if (held !== undefined) requireSameSandbox(files.file, held, config)
  await writeSandboxKeys(options.sandbox, files, existing)
  // What they were of is gone: the chain of a run before, and the keys that it traded with.
  if (existing === 'replace')
    for (const each of [files.anchor, files.operatorAnchor]) await rm(each, { force: true })
  if (held === undefined) await writePrivately(files.file, stringify(config), existing)
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

async function textIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Whoever waits for the file sees all of it or nothing. */
async function writePrivately(file: string, text: string, existing: Existing): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (existing === 'replace') await rename(temporary, file)
    // Unlike a rename, a link fails where another program was faster.
    else await linkNew(temporary, file)
  } finally {
    await rm(temporary, { force: true })
  }
}

async function linkNew(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new FileExistsError(file)
    throw error
  }
}
