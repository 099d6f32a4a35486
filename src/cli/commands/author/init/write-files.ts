import { lstat, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { codeOf } from '../../../../config/yaml/yaml-files.ts'
import { makeDirectory } from '../../../../system/directory.ts'
import type { Content } from './contents.ts'

export type Written = {
  readonly written: readonly string[]
  readonly kept: readonly Kept[]
  /** New names of replaced files. */
  readonly saved: readonly string[]
  /** Lines added to an existing `.gitignore`; undefined if there were none. */
  readonly appended: readonly string[] | undefined
}

type Kept = { readonly file: string; readonly why: string }

type Outcome =
  | { readonly tag: 'written' }
  | { readonly tag: 'replaced'; readonly saved: string }
  | ReturnType<typeof kept>

function kept(why: string) {
  return { tag: 'kept', why } as const
}

/** In live mode, other users must not be able to write files that decide about signatures. */
const FILE_MODE = 0o644
const DIRECTORY_MODE = 0o755

const KEYS = 'keys'
/** Directories in which `init` never writes, replaces or renames a file, even through links. */
const UNTOUCHED = [KEYS, 'data']

const IGNORE_FILE = '.gitignore'
const WAS_THERE = 'it already existed'

/**
 * Writes the files of a folder, and a directory for keys. Keeps existing files. With `force`, replaces a file that begins as
 * `init` writes it, and keeps the old one as `.old`.
 */
export async function writeFolder(
  dir: string,
  contents: readonly Content[],
  { force }: { readonly force: boolean },
): Promise<Written> {
  makeDirectory(dir, DIRECTORY_MODE)
  makeDirectory(join(dir, KEYS), 0o700)
  const written: string[] = []
  const left: Kept[] = []
  const saved: string[] = []
  for (const { to, text } of contents) {
    const outcome = await writeOne(dir, { to, text }, force)
    if (outcome.tag === 'kept') left.push({ file: to, why: outcome.why })
    else written.push(to)
    if (outcome.tag === 'replaced') saved.push(outcome.saved)
  }
  const ignored = await ignoreSecrets(dir)
  if (ignored.tag === 'written') written.push(IGNORE_FILE)
  if (ignored.tag === 'kept') left.push({ file: IGNORE_FILE, why: ignored.why })
  const appended = ignored.tag === 'appended' ? ignored.rules : undefined
  return { written, kept: left, saved, appended }
}

async function writeOne(dir: string, { to, text }: Content, force: boolean): Promise<Outcome> {
  const file = join(dir, to)
  const untouched = await untouchedAround(dir, dirname(file))
  if (untouched !== undefined)
    return kept(`it would be in ${untouched}/, where init writes nothing`)
  makeDirectory(dirname(file), DIRECTORY_MODE)
  if (await writeNew(file, text)) return { tag: 'written' }
  if (!force) return kept(WAS_THERE)
  if (!(await lstat(file)).isFile()) return kept('it is not a regular file')
  const present = await readFile(file, 'utf8')
  if (present === text) return kept('it is unchanged')
  if (firstLine(present) !== firstLine(text))
    return kept(`its first line is not \`${firstLine(text)}\`: init did not write it`)
  const saved = `${to}.old`
  await rename(file, join(dir, saved))
  await writeFile(file, text, { flag: 'wx', mode: FILE_MODE })
  return { tag: 'replaced', saved }
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/** The untouched directory that contains a folder, with links resolved; undefined if none does. */
async function untouchedAround(dir: string, folder: string): Promise<string | undefined> {
  const place = await placeOf(folder)
  for (const name of UNTOUCHED) {
    const way = relative(await placeOf(join(dir, name)), place)
    if (way !== '..' && !way.startsWith(`..${sep}`)) return name
  }
  return undefined
}

async function placeOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    return join(await placeOf(dirname(path)), basename(path))
  }
}

/** Adds missing rules to a `.gitignore` that would let keys be committed; otherwise leaves it unchanged. */
async function ignoreSecrets(dir: string) {
  const file = join(dir, IGNORE_FILE)
  if (await writeNew(file, withRules('', missingRules('')))) return { tag: 'written' } as const
  // Git ignores a symbolic link of this name.
  if (!(await lstat(file)).isFile())
    return kept(`it is not a regular file: list ${missingRules('').join(' ')} in one`)
  const present = await readFile(file, 'utf8')
  const rules = missingRules(present)
  if (rules.length === 0) return kept(WAS_THERE)
  await writeFile(file, withRules(present, rules))
  return { tag: 'appended', rules } as const
}

/** False if the name exists, even as a dangling link. */
async function writeNew(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: FILE_MODE })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Rules, each with spellings that cover it. One for a directory's files does not count: a later line may negate it. */
const RULES: readonly { readonly rule: string; readonly covers: RegExp }[] = [
  { rule: 'keys/', covers: /^(\*\*\/|\/)?keys\/?$/ },
  { rule: 'data/', covers: /^(\*\*\/|\/)?data\/?$/ },
  { rule: '*.pass', covers: /^(\*\*\/)?\*\.pass$/ },
  { rule: '*.anchor', covers: /^(\*\*\/)?\*\.anchor$/ },
  { rule: '.env', covers: /^(\*\*\/|\/)?\.env\*?$/ },
]

const WHY = '# Never commit keys, passwords or the state of the daemon.'

/** A rule is missing if no line covers it, or a later line negates it. */
function missingRules(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd())
  return RULES.filter(({ rule, covers }) => {
    const covering = lines.findLastIndex((line) => covers.test(line))
    const after = lines.slice(covering + 1)
    return covering < 0 || after.some((line) => line.startsWith('!') && takesBack(line, rule))
  }).map(({ rule }) => rule)
}

/** True if a negated line may re-include something that a rule excludes; wildcards always count. */
function takesBack(line: string, rule: string): boolean {
  const pattern = line.slice(1)
  if (/[*?[]/.test(pattern)) return true
  if (rule.startsWith('*')) return pattern.endsWith(rule.slice(1))
  return pattern.replace(/^\/|\/$/g, '') === rule.replace(/\/$/, '')
}

function withRules(text: string, rules: readonly string[]): string {
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${[WHY, ...rules].join('\n')}\n`
}
