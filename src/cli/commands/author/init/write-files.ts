import { lstat, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { codeOf } from '../../../../config/yaml/files.ts'
import { makeDirectory } from '../../../../files/directory.ts'
import type { Content } from './contents.ts'
import { missingRules, withRules } from './ignored.ts'

/** What became of each file, by its path in the folder. */
export type Written = {
  readonly written: readonly string[]
  readonly kept: readonly Kept[]
  /** What was replaced, under the names that it has now. */
  readonly saved: readonly string[]
  /** Lines that `.gitignore` was given; undefined unless it was there before. */
  readonly appended: readonly string[] | undefined
}

type Kept = { readonly file: string; readonly why: string }

type Outcome =
  | { readonly tag: 'written' }
  | { readonly tag: 'replaced'; readonly saved: string }
  | { readonly tag: 'kept'; readonly why: string }

/** In live mode nobody else may write what says what is signed. */
const FILE_MODE = 0o644
const DIRECTORY_MODE = 0o755

const KEYS = 'keys'
/** Directories in which nothing is ever written, replaced or renamed, whatever leads there. */
const UNTOUCHED = [KEYS, 'data']

const IGNORE_FILE = '.gitignore'
const WAS_THERE = 'it was there already'

/**
 * Writes the files of a folder, and a directory for keys. What is there stays; with `force` a file gives way that begins as
 * what `init` writes does, and is kept beside it under a name that ends in `.old`.
 */
export async function writeFolder(
  dir: string,
  contents: readonly Content[],
  { force }: { readonly force: boolean },
): Promise<Written> {
  makeDirectory(dir, DIRECTORY_MODE)
  makeDirectory(join(dir, KEYS), 0o700)
  const written: string[] = []
  const kept: Kept[] = []
  const saved: string[] = []
  for (const { to, text } of contents) {
    const outcome = await writeOne(dir, { to, text }, force)
    if (outcome.tag === 'kept') kept.push({ file: to, why: outcome.why })
    else written.push(to)
    if (outcome.tag === 'replaced') saved.push(outcome.saved)
  }
  const ignored = await ignoreSecrets(dir)
  if (ignored.tag === 'written') written.push(IGNORE_FILE)
  if (ignored.tag === 'kept') kept.push({ file: IGNORE_FILE, why: ignored.why })
  const appended = ignored.tag === 'appended' ? ignored.rules : undefined
  return { written, kept, saved, appended }
}

async function writeOne(dir: string, { to, text }: Content, force: boolean): Promise<Outcome> {
  const file = join(dir, to)
  const untouched = await untouchedAround(dir, dirname(file))
  if (untouched !== undefined)
    return { tag: 'kept', why: `it would lie in ${untouched}/, where nothing is written` }
  makeDirectory(dirname(file), DIRECTORY_MODE)
  if (await writeNew(file, text)) return { tag: 'written' }
  if (!force) return { tag: 'kept', why: WAS_THERE }
  if (!(await lstat(file)).isFile()) return { tag: 'kept', why: 'it is no regular file' }
  const present = await readFile(file, 'utf8')
  if (present === text) return { tag: 'kept', why: 'it is the same' }
  if (firstLine(present) !== firstLine(text))
    return {
      tag: 'kept',
      why: `its first line is not \`${firstLine(text)}\`: init did not write it`,
    }
  const saved = `${to}.old`
  await rename(file, join(dir, saved))
  await writeFile(file, text, { flag: 'wx', mode: FILE_MODE })
  return { tag: 'replaced', saved }
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/** The directory that nothing is written in, where a link leads a folder of files into it. */
async function untouchedAround(dir: string, folder: string): Promise<string | undefined> {
  const place = await placeOf(folder)
  for (const name of UNTOUCHED) {
    const way = relative(await placeOf(join(dir, name)), place)
    if (way !== '..' && !way.startsWith(`..${sep}`)) return name
  }
  return undefined
}

/** Where links lead, also to what is not there yet. */
async function placeOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    return join(await placeOf(dirname(path)), basename(path))
  }
}

type Ignored =
  | { readonly tag: 'written' }
  | { readonly tag: 'appended'; readonly rules: readonly string[] }
  | { readonly tag: 'kept'; readonly why: string }

/** A `.gitignore` that leaves keys to be committed is told what it lacks; else it is left as it is. */
async function ignoreSecrets(dir: string): Promise<Ignored> {
  const file = join(dir, IGNORE_FILE)
  if (await writeNew(file, withRules('', missingRules('')))) return { tag: 'written' }
  // Git does not follow a link of this name.
  if (!(await lstat(file)).isFile())
    return { tag: 'kept', why: `it is no regular file: list ${missingRules('').join(' ')} in one` }
  const present = await readFile(file, 'utf8')
  const rules = missingRules(present)
  if (rules.length === 0) return { tag: 'kept', why: WAS_THERE }
  await writeFile(file, withRules(present, rules))
  return { tag: 'appended', rules }
}

/** False where there is something of this name, even a link that leads nowhere. */
async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: FILE_MODE })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}
