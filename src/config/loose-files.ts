import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { ModuleStrategy } from '../domain/module.ts'
import type { Settings } from '../domain/settings.ts'
import { shellWord } from '../domain/text/shell-word.ts'
import { asksModule, type Strategy } from '../strategies/registry.ts'
import { type Problem, problemOf } from './yaml/problem.ts'
import { codeOf } from './yaml/yaml-files.ts'

/** Forbidden permission bits of a file or directory, and the remedy. */
type Rule = { readonly forbidden: number; readonly what: string; readonly remedy: string }

const WRITTEN_BY_OTHERS: Rule = {
  forbidden: 0o022,
  what: 'group or others may write it',
  remedy: 'chmod go-w',
}
const SEEN_BY_OTHERS: Rule = {
  forbidden: 0o077,
  what: 'group or others have rights to it',
  remedy: 'chmod go-rwx',
}
/** In a sticky directory, users cannot remove or replace files of others. */
const STICKY = 0o1000
/** Exempt: a halt by anyone only stops trading. */
const HALT = 'HALT'
const LINKS_MAX = 40
/** Entries of one directory tree. A folder of packages may hold tens of thousands. */
const ENTRIES_MAX = 500_000
/** Problems reported one by one per directory tree; the rest are only counted. */
const NAMED_MAX = 10

const TOO_MANY = `it holds more than ${ENTRIES_MAX} files, which is too many to check`

/**
 * Finds files that users other than root and the daemon's own could change or, if secret, read (rule T11): config,
 * strategies, modules, keys, anchors and state. Checks every directory on their paths and follows links. Each problem has
 * its remedy. Empty on systems without such permissions; skips missing files. `reachOf` returns the folders that a
 * strategy's module may load code from.
 */
export function looseFiles(
  settings: Settings,
  strategies: readonly Strategy[],
  reachOf: (strategy: ModuleStrategy) => readonly string[],
): readonly Problem[] {
  const uid = process.geteuid?.()
  if (uid === undefined) return []
  const search = new Search(uid)
  search.file(settings.file, WRITTEN_BY_OTHERS)
  search.file(settings.strategiesDir, WRITTEN_BY_OTHERS)
  for (const strategy of strategies) {
    search.file(strategy.file, WRITTEN_BY_OTHERS)
    if (!asksModule(strategy)) continue
    search.file(strategy.module, WRITTEN_BY_OTHERS)
    search.tree(dirname(strategy.module), WRITTEN_BY_OTHERS)
    for (const folder of reachOf(strategy)) search.tree(folder, WRITTEN_BY_OTHERS)
  }
  for (const secret of secretFiles(settings)) search.file(secret, SEEN_BY_OTHERS)
  for (const anchor of settings.anchors.values()) search.file(anchor, WRITTEN_BY_OTHERS)
  search.tree(settings.stateDir, SEEN_BY_OTHERS, HALT)
  if (settings.journal.archive !== undefined) search.tree(settings.journal.archive, SEEN_BY_OTHERS)
  return [...search.found.values()]
}

/** Keys, keystores, passwords and tokens that a config names. */
export function secretFiles({
  wallets,
  http,
}: Pick<Settings, 'wallets' | 'http'>): readonly string[] {
  const keys = [...wallets.values()].flatMap((source) => {
    if (source.type === 'keystore') return [source.keystore, source.passwordFile]
    return source.type === 'privateKeyFile' ? [source.file] : []
  })
  return [...keys, ...tokenFiles(http).map(({ file }) => file)]
}

/** Files with tokens for the page, and their keys in the config. */
export function tokenFiles({ control, viewTokenFile }: Settings['http']) {
  return [
    { key: 'view', path: ['http', 'viewTokenFile'], file: viewTokenFile },
    { key: 'control', path: ['http', 'control', 'tokenFile'], file: control?.tokenFile },
  ].flatMap(({ file, ...rest }) => (file === undefined ? [] : [{ file, ...rest }]))
}

/** Files and directories that no output may replace: the config and its keys, anchors and state. */
export function ownFiles(settings: Settings): readonly string[] {
  const { file, anchors, stateDir, journal } = settings
  const archive = journal.archive === undefined ? [] : [journal.archive]
  return [file, ...secretFiles(settings), ...anchors.values(), stateDir, ...archive]
}

class Search {
  /** First problem of each path. */
  readonly found = new Map<string, Problem>()
  /** The user that may own the daemon's files, besides root. */
  readonly #uid: number
  readonly #ways = new Set<string>()
  readonly #trees = new Set<string>()

  constructor(uid: number) {
    this.#uid = uid
  }

  /** Checks a file or directory, and the path to it. */
  file(path: string, rule: Rule): void {
    const end = this.#follow(path)
    if (end !== undefined) this.#check(end.path, end.stat, rule)
  }

  /** Checks a directory and everything in it, through links too, except a direct entry named `exempt`. */
  tree(dir: string, rule: Rule, exempt?: string): void {
    const before = this.found.size
    const top = this.#follow(dir)
    if (top === undefined) return
    this.#check(top.path, top.stat, rule)
    const waiting = [top.path]
    let seen = 0
    for (let here = waiting.pop(); here !== undefined; here = waiting.pop()) {
      const names = this.#unseenIn(here, rule).filter(
        (name) => here !== top.path || name !== exempt,
      )
      seen += names.length
      if (seen > ENTRIES_MAX) {
        this.#report(top.path, TOO_MANY, 'fewer files in')
        return
      }
      for (const name of names) {
        const inner = this.#entry(join(here, name), rule)
        if (inner !== undefined) waiting.push(inner)
      }
    }
    this.#sumUp(top.path, before)
  }

  /** Entries of a directory; empty if this rule already checked it, because links may lead there repeatedly. */
  #unseenIn(dir: string, { forbidden }: Rule): readonly string[] {
    const key = `${forbidden} ${dir}`
    if (this.#trees.has(key)) return []
    this.#trees.add(key)
    return ifReadable(() => readdirSync(dir)) ?? []
  }

  /** Checks an entry. Returns the directory that it is or links to, so that its entries are checked too. */
  #entry(path: string, rule: Rule): string | undefined {
    const stat = statOf(path)
    const end = stat?.isSymbolicLink() === true ? this.#follow(path) : stat && { path, stat }
    if (end === undefined) return undefined
    this.#check(end.path, end.stat, rule)
    return end.stat.isDirectory() ? end.path : undefined
  }

  /** Replaces problems beyond `NAMED_MAX` in one directory with one that has a remedy for all. */
  #sumUp(dir: string, before: number): void {
    const more = [...this.found].slice(before + NAMED_MAX)
    if (more.length === 0) return
    const remedies = new Set<string>()
    for (const [path, { expected }] of more) {
      this.found.delete(path)
      remedies.add(expected.slice(0, -shellWord(path).length).replace(' ', ' -R '))
    }
    const message = `${more.length} more in this directory are as loose`
    const expected = [...remedies].map((remedy) => `${remedy}${shellWord(dir)}`).join('; ')
    this.found.set(`${dir}/`, problemOf({ file: dir, message, expected }))
  }

  /** Resolves a path, and checks each directory and link on the way. Undefined if it does not exist. */
  #follow(path: string): { readonly path: string; readonly stat: Stats } | undefined {
    const rest = path.split('/').filter((part) => part !== '')
    let here = '/'
    let stat = statOf(here)
    for (let links = 0; rest.length > 0; ) {
      this.#way(here)
      const part = rest.shift() ?? ''
      const next = part === '..' ? dirname(here) : join(here, part)
      stat = statOf(next)
      if (stat === undefined) return undefined
      if (!stat.isSymbolicLink()) {
        here = next
        continue
      }
      links += 1
      if (links > LINKS_MAX) return undefined
      this.#belongs(next, stat, 'chown -h')
      const target = readlinkSync(next)
      rest.unshift(...target.split('/').filter((each) => each !== '' && each !== '.'))
      if (isAbsolute(target)) here = '/'
    }
    return stat === undefined ? undefined : { path: here, stat }
  }

  /** Checks a directory on the path: a user who may write there can replace everything below it. */
  #way(dir: string): void {
    if (this.#ways.has(dir)) return
    this.#ways.add(dir)
    const stat = statOf(dir)
    if (stat === undefined || !this.#belongs(dir, stat, 'chown')) return
    const { forbidden, remedy } = WRITTEN_BY_OTHERS
    if ((stat.mode & STICKY) === 0 && (stat.mode & forbidden) !== 0)
      this.#report(dir, 'group or others may replace what is in this directory', remedy)
  }

  #check(path: string, stat: Stats, { forbidden, what, remedy }: Rule): void {
    if (!this.#belongs(path, stat, 'chown')) return
    if ((stat.mode & forbidden) !== 0) this.#report(path, what, remedy)
  }

  /** Root is accepted as owner: it can read and change anything anyway. */
  #belongs(path: string, { uid }: Stats, remedy: string): boolean {
    if (uid === this.#uid || uid === 0) return true
    const message = `it belongs to user ${uid}, and the daemon runs as user ${this.#uid}`
    this.#report(path, message, `${remedy} ${this.#uid}`)
    return false
  }

  #report(file: string, message: string, remedy: string): void {
    if (this.found.has(file)) return
    this.found.set(file, problemOf({ file, message, expected: `${remedy} ${shellWord(file)}` }))
  }
}

const statOf = (path: string) => ifReadable(() => lstatSync(path))

/** Undefined if the file cannot be read, which is reported elsewhere. */
function ifReadable<Found>(read: () => Found): Found | undefined {
  try {
    return read()
  } catch (error) {
    codeOf(error)
    return undefined
  }
}
