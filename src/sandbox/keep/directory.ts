import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { makeDirectory } from '../../system/directory.ts'
import { ifThere, replaceFile, writeNewFile } from '../../system/durable-file.ts'
import type { BoundTerms } from '../options.ts'
import { SandboxError } from '../sandbox-error.ts'
import {
  decode,
  type Keep,
  type OfChains,
  type Resumed,
  type SandboxState,
  type Snapshot,
} from './keeper.ts'

/**
 * A kept sandbox is a directory: `kept.json` has everything but the chains, and each chain has one file, whose name is never
 * reused. `kept.json` names both files with their digests and is replaced last. So a killed sandbox leaves a complete
 * snapshot, the old or the new one.
 */
const KEPT = 'kept.json'
const FORMAT = 1
/** Files that this module writes, finished or not. */
const OWN = /^(?:(?:base|aggregator)-[0-9a-f]{16}\.json(?:\.gz)?|kept\.json\.[0-9a-f]+\.tmp)$/

type Named = { readonly name: string; readonly sha256: string }
/** First line of `kept.json`. The second line is the state. */
type Head = {
  readonly format: number
  readonly sha256: string
  readonly chains: OfChains<Named>
}

/** The error for a directory without a sandbox that these settings can resume. */
function refused(file: string, why: string, remedy = ''): SandboxError {
  return new SandboxError(
    `${file} ${why}; ${remedy}give another place to --keep, or --force to begin a new sandbox in place of it`,
  )
}

/**
 * Opens a directory that keeps a sandbox, and creates it if it is missing. The caller holds its lock. `isNew` replaces the
 * kept sandbox.
 *
 * @throws {SandboxError} if the kept sandbox is damaged, of another version, or bound to other terms
 */
export async function openKept({
  dir,
  terms,
  isNew,
  report,
}: {
  readonly dir: string
  readonly terms: BoundTerms
  readonly isNew: boolean
  readonly report: Keep['report']
}): Promise<Keep> {
  makeDirectory(dir, 0o700)
  const found = isNew ? undefined : await readKept(dir)
  if (found !== undefined) requireTerms(join(dir, KEPT), found.state.terms, terms)
  const former = found && (await unpack(dir, found))
  return { former, report, write: (snapshot) => write(dir, snapshot) }
}

type Found = { readonly head: Head; readonly state: SandboxState }

async function readKept(dir: string): Promise<Found | undefined> {
  const file = join(dir, KEPT)
  const text = await ifThere(readFile(file, 'utf8'))
  if (text === undefined) return undefined
  const end = text.indexOf('\n')
  const head = headOf(text.slice(0, Math.max(end, 0)))
  if (head === undefined) throw refused(file, 'is not the file of a kept sandbox')
  if (head.format !== FORMAT)
    throw refused(file, `is of another version of this program (${head.format})`)
  const state = text.slice(end + 1)
  if (digestOf(state) !== head.sha256) throw refused(file, 'is damaged')
  return { head, state: decode(state) as SandboxState }
}

function headOf(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Head> | null
    const isHead = typeof head?.format === 'number' && typeof head.sha256 === 'string'
    return isHead ? (head as Head) : undefined
  } catch {
    // Not a file of a kept sandbox.
    return undefined
  }
}

function requireTerms(file: string, kept: BoundTerms, wanted: BoundTerms): void {
  const names = Object.keys(wanted) as (keyof BoundTerms)[]
  const different = names.filter((name) => kept[name] !== wanted[name])
  if (different.length === 0) return
  const texts = different.map((name) => `${nameOf(name)} ${kept[name]}, and now ${wanted[name]}`)
  const remedy = 'leave that setting as it was, '
  throw refused(file, `is a sandbox made with ${texts.join('; ')}`, remedy)
}

function nameOf(term: keyof BoundTerms): string {
  return term === 'participants' ? 'aggregator.traffic.participants' : `aggregator.${term}`
}

/** Unpacks the chains, because nodes load plain JSON. The next snapshot removes the unpacked files. */
async function unpack(dir: string, { head, state }: Found): Promise<Resumed> {
  await tidy(dir, head)
  const stateFiles = await forChains(async (chain) => {
    const { name, sha256 } = head.chains[chain]
    const packed = await ifThere(readFile(join(dir, name)))
    if (packed === undefined) throw refused(join(dir, name), 'is missing')
    if (digestOf(packed) !== sha256) throw refused(join(dir, name), 'is damaged')
    const file = join(dir, `${chain}-${unusedName()}.json`)
    await writeNewFile(file, await promisify(gunzip)(packed))
    return file
  })
  return { state, stateFiles }
}

async function write(dir: string, { state, dumps }: Snapshot): Promise<void> {
  const chains = await forChains(async (chain): Promise<Named> => {
    const name = `${chain}-${unusedName()}.json.gz`
    await writeNewFile(join(dir, name), dumps[chain])
    return { name, sha256: digestOf(dumps[chain]) }
  })
  const head: Head = { format: FORMAT, sha256: digestOf(state), chains }
  await replaceFile(join(dir, KEPT), `${JSON.stringify(head)}\n${state}`)
  await tidy(dir, head)
}

async function forChains<Value>(
  act: (chain: keyof OfChains<unknown>) => Promise<Value>,
): Promise<OfChains<Value>> {
  const [base, aggregator] = await Promise.all([act('base'), act('aggregator')])
  return { base, aggregator }
}

/** Removes files of older or unfinished snapshots. */
async function tidy(dir: string, { chains }: Head): Promise<void> {
  const needed = [chains.base.name, chains.aggregator.name]
  const stale = (await readdir(dir)).filter((name) => OWN.test(name) && !needed.includes(name))
  await Promise.all(stale.map((name) => rm(join(dir, name), { force: true })))
}

function unusedName(): string {
  return randomBytes(8).toString('hex')
}

function digestOf(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}
