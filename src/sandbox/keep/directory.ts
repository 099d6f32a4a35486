import { createHash, randomBytes } from 'node:crypto'
import { open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { OperatorError } from '../../domain/errors.ts'
import { makeDirectory } from '../../files/directory.ts'
import type { Keep, OfChains, Resumed, SandboxState, Snapshot } from './keeper.ts'
import type { BoundTerms } from './terms.ts'
import { decode } from './text.ts'

/**
 * A kept sandbox is a directory: `kept.json` with everything but the chains, and beside it a file for each chain, under a name
 * that is never used twice. `kept.json` names both with their digests and is renamed into its place last, so a sandbox that is
 * killed leaves the snapshot before or the new one, whole.
 */
const KEPT = 'kept.json'
const FORMAT = 1
const CHAINS = ['base', 'aggregator'] as const
/** Files of this module, finished or not; whatever else is in the directory is somebody else's. */
const OWN = /^(?:(?:base|aggregator)-[0-9a-f]{16}\.json(?:\.gz)?|kept\.json\.[0-9a-f]{16}\.tmp)$/

type Named = { readonly name: string; readonly sha256: string }
/** First line of `kept.json`; the second is the state. */
type Head = {
  readonly format: number
  readonly sha256: string
  readonly chains: OfChains<Named>
}

/** What is in a directory is no sandbox that these settings can go on with. */
class KeptRefusedError extends OperatorError {
  override readonly name = 'KeptRefusedError'
  readonly means = 'failed'
  constructor(file: string, why: string, remedy = '') {
    super(
      `${file} ${why}; ${remedy}give another place to --keep, or --force to begin a new sandbox in place of it`,
    )
  }
}

export type KeptOptions = {
  readonly dir: string
  /** What the sandbox that is to be started is bound to. */
  readonly terms: BoundTerms
  /** Begins a new sandbox, which takes the place of the one that is kept. */
  readonly isNew: boolean
  readonly tell: Keep['tell']
}

/**
 * Opens a directory to keep a sandbox in, making it if need be. One process at a time: the caller holds its lock.
 *
 * @throws {KeptRefusedError} where what is kept is damaged, of another version, or bound to other terms
 */
export async function openKept({ dir, terms, isNew, tell }: KeptOptions): Promise<Keep> {
  makeDirectory(dir, 0o700)
  const found = isNew ? undefined : await readKept(dir)
  if (found !== undefined) requireTerms(join(dir, KEPT), found.state.terms, terms)
  const former = found && (await unpack(dir, found))
  return { former, tell, write: (snapshot) => write(dir, snapshot) }
}

type Found = { readonly head: Head; readonly state: SandboxState }

async function readKept(dir: string): Promise<Found | undefined> {
  const file = join(dir, KEPT)
  const text = await readIfThere(file)
  if (text === undefined) return undefined
  const end = text.indexOf('\n')
  const head = headOf(text.slice(0, Math.max(end, 0)))
  if (head === undefined) throw new KeptRefusedError(file, 'is not what a sandbox has kept')
  if (head.format !== FORMAT)
    throw new KeptRefusedError(file, `is of another version of this program (${head.format})`)
  const state = text.slice(end + 1)
  if (digestOf(state) !== head.sha256)
    throw new KeptRefusedError(file, 'is damaged: it is not what was written')
  return { head, state: decode(state) as SandboxState }
}

function headOf(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Head> | null
    const isHead = typeof head?.format === 'number' && typeof head.sha256 === 'string'
    return isHead ? (head as Head) : undefined
  } catch {
    // Some other file has this name.
    return undefined
  }
}

function requireTerms(file: string, kept: BoundTerms, asked: BoundTerms): void {
  const names = Object.keys(asked) as (keyof BoundTerms)[]
  const different = names.filter((name) => kept[name] !== asked[name])
  if (different.length === 0) return
  const told = different.map((name) => `${nameOf(name)} ${kept[name]}, and now ${asked[name]}`)
  const remedy = 'leave that setting as it was, '
  throw new KeptRefusedError(file, `is a sandbox made with ${told.join('; ')}`, remedy)
}

function nameOf(term: keyof BoundTerms): string {
  return term === 'participants' ? 'aggregator.traffic.participants' : `aggregator.${term}`
}

/** A node loads plain JSON only. The files go with the next snapshot. */
async function unpack(dir: string, { head, state }: Found): Promise<Resumed> {
  await tidy(dir, namesOf(head))
  const files = await Promise.all(
    CHAINS.map(async (chain) => {
      const { name, sha256 } = head.chains[chain]
      const packed = await readFile(join(dir, name)).catch((error: unknown) => {
        if (isMissing(error)) throw new KeptRefusedError(join(dir, name), 'is missing')
        throw error
      })
      if (digestOf(packed) !== sha256)
        throw new KeptRefusedError(join(dir, name), 'is damaged: it is not what was written')
      const file = join(dir, `${chain}-${unusedName()}.json`)
      await writeDurably(file, await promisify(gunzip)(packed))
      return file
    }),
  )
  const [base = '', aggregator = ''] = files
  return { state, stateFiles: { base, aggregator } }
}

async function write(dir: string, { state, dumps }: Snapshot): Promise<void> {
  const named = async (chain: (typeof CHAINS)[number]): Promise<Named> => {
    const name = `${chain}-${unusedName()}.json.gz`
    await writeDurably(join(dir, name), dumps[chain])
    return { name, sha256: digestOf(dumps[chain]) }
  }
  const [base, aggregator] = await Promise.all([named('base'), named('aggregator')])
  const head: Head = { format: FORMAT, sha256: digestOf(state), chains: { base, aggregator } }
  const temporary = join(dir, `${KEPT}.${unusedName()}.tmp`)
  await writeDurably(temporary, `${JSON.stringify(head)}\n${state}`)
  await rename(temporary, join(dir, KEPT))
  await syncDirectory(dir)
  await tidy(dir, namesOf(head))
}

function namesOf({ chains }: Head): readonly string[] {
  return CHAINS.map((chain) => chains[chain].name)
}

/** Removes what a snapshot before, or one that was cut short, has left. */
async function tidy(dir: string, needed: readonly string[]): Promise<void> {
  const stale = (await readdir(dir)).filter((name) => OWN.test(name) && !needed.includes(name))
  await Promise.all(stale.map((name) => rm(join(dir, name), { force: true })))
}

async function writeDurably(file: string, data: string | Buffer): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(data)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function unusedName(): string {
  return randomBytes(8).toString('hex')
}

function digestOf(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}
