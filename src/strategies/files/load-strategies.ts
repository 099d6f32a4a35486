import { join } from 'node:path'
import { privateKeyFaults } from '../../config/settings/private-keys.ts'
import {
  type ConfigDocument,
  type Fault,
  locate,
  valueAt,
  withText,
} from '../../config/yaml/document.ts'
import { byPosition, type Problem, problemOf } from '../../config/yaml/problem.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import {
  codeOf,
  type ListFiles,
  listDiskFiles,
  type ReadFile,
  readDiskFile,
  readText,
} from '../../config/yaml/yaml-files.ts'
import { createPricePaths } from '../../domain/money/price.ts'
import { cronWarnings } from '../../domain/schedule/cron.ts'
import type { Settings } from '../../domain/settings.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { MANUAL } from '../manual/manual-kind.ts'
import { kindOf, type Strategy } from '../registry.ts'
import { readStrategy } from '../schemas.ts'
import { unmetBy } from '../spending/unmet.ts'
import type { StrategyContext } from './fields.ts'

type StrategiesLoaded =
  | {
      readonly ok: true
      readonly strategies: readonly Strategy[]
      readonly warnings: readonly Problem[]
    }
  | {
      readonly ok: false
      readonly problems: readonly Problem[]
      /** Strategies of files without a problem, for read-only commands. */
      readonly sound: readonly Strategy[]
    }

/** A text that replaces a value of a strategy's file. */
export type StrategyPut = Parameters<typeof withText>[1] & { readonly strategy: string }

/** A directory with more files is probably the wrong one. */
const FILES_MAX = 20_000
/** Excludes hidden files, where editors keep copies. */
const STRATEGY_FILE = /^[^.].*\.ya?ml$/s
/** Names that look like strategy files but are not read: `.YML`, or `.yaml.txt`. */
const NEAR_MISS = /^[^.].*\.ya?ml(?:\.txt)?$/is
const READ_NAMES = 'a name that ends in .yaml or .yml'

/** Reads every `*.yaml` and `*.yml` file of a directory by name, without subfolders. Reports all problems at once. */
export function loadStrategies(options: {
  dir: string
  settings: Settings
  readFile?: ReadFile
  listFiles?: ListFiles
  puts?: readonly StrategyPut[]
}): StrategiesLoaded {
  const { dir, settings, readFile = readDiskFile, listFiles = listDiskFiles, puts = [] } = options
  const found = findFiles(dir, listFiles)
  if (!found.ok) return { ok: false, problems: [found.problem], sound: [] }
  const pricePath = createPricePaths(settings.prices.values())
  const read = found.files.map((file) => readFileOf(file, { settings, readFile, pricePath, puts }))
  const problems = [
    ...read.flatMap((one) => one.problems),
    ...duplicateNames(read),
    ...strangeEntries(read),
  ]
  if (problems.length > 0) {
    const wrong = new Set(problems.map(({ file }) => file))
    const sound = read.flatMap(({ file, strategy }) =>
      strategy === undefined || wrong.has(file) ? [] : [strategy],
    )
    return { ok: false, problems: problems.sort(byPosition), sound }
  }
  return {
    ok: true,
    strategies: read.flatMap(({ strategy }) => strategy ?? []),
    warnings: [...found.unread, ...read.flatMap((one) => one.warnings)].sort(byPosition),
  }
}

function findFiles(
  dir: string,
  listFiles: ListFiles,
):
  | { ok: true; files: readonly string[]; unread: readonly Problem[] }
  | { ok: false; problem: Problem } {
  const refuse = (message: string, expected: string) =>
    ({ ok: false, problem: problemOf({ file: dir, message, expected }) }) as const
  let names: readonly string[]
  try {
    names = listFiles(dir)
  } catch (error) {
    const message =
      codeOf(error) === 'ENOENT'
        ? 'there is no such directory'
        : `this directory cannot be read (${codeOf(error)})`
    return refuse(message, 'strategiesDir naming a directory of strategy files')
  }
  const files = names.filter((name) => STRATEGY_FILE.test(name)).sort()
  if (files.length > FILES_MAX)
    return refuse('this directory has too many files', `at most ${FILES_MAX} strategies`)
  const others = names.filter((name) => NEAR_MISS.test(name) && !STRATEGY_FILE.test(name)).sort()
  if (files.length === 0) {
    const expected = 'at least one *.yaml file, or *.yml; see `tranched init`'
    const [first] = others
    const renamed = first === undefined ? '' : `. ${first} is not read: give it ${READ_NAMES}`
    return refuse('this directory has no strategy files', `${expected}${renamed}`)
  }
  const message = 'this file is not read as a strategy'
  const unread = others.map((name) =>
    problemOf({ file: join(dir, name), message, expected: READ_NAMES }),
  )
  return { ok: true, files: files.map((name) => join(dir, name)), unread }
}

/** Reads one file, without checks against others. `text` has secrets masked; undefined if the file cannot be read. */
export function readStrategyFile(file: string, settings: Settings) {
  const given = { settings, pricePath: createPricePaths(settings.prices.values()), puts: [] }
  const { document, strategy, problems } = readFileOf(file, { ...given, readFile: readDiskFile })
  return { text: document?.source.masked, strategy, problems }
}

type StrategyFile = {
  readonly file: string
  readonly document?: ConfigDocument
  readonly strategy?: Strategy | undefined
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

function readFileOf(
  file: string,
  given: Pick<StrategyContext, 'settings' | 'pricePath'> & {
    readonly readFile: ReadFile
    readonly puts: readonly StrategyPut[]
  },
): StrategyFile {
  const text = readText(file, given.readFile)
  if (!text.ok) return { file, problems: [text.problem], warnings: [] }
  const parsed = parseConfigText(file, text.text)
  const { document, strange } = withPuts(parsed.document, given.puts)
  const faults: Fault[] = [...parsed.faults, ...strange, ...privateKeyFaults(document)]
  const warnings: Fault[] = []
  const report = (fault: Fault) => faults.push(fault)
  const warn = (fault: Fault) => warnings.push(fault)
  const { settings, pricePath } = given
  const strategy =
    faults.length === 0
      ? readStrategy(document, { file, settings, pricePath, report, warn })
      : undefined
  const pattern = strategy?.schedule.type === 'cron' ? strategy.schedule.pattern : undefined
  for (const message of pattern ? cronWarnings(pattern) : [])
    warn({ path: ['schedule', 'cron'], message, expected: 'nothing, if this is what you mean' })
  if (strategy !== undefined) for (const unmet of unmetBy(strategy, settings.limits)) warn(unmet)
  const toProblem = (fault: Fault) => locate(document, fault)
  const problems = faults.map(toProblem)
  return { file, document, strategy, problems, warnings: warnings.map(toProblem) }
}

/** Applies replaced texts. A text without a place in the file is a fault. */
function withPuts(before: ConfigDocument, puts: readonly StrategyPut[]) {
  const name = valueAt(before.tree, ['name'])
  const own = puts.filter(({ strategy }) => strategy === name)
  const document = own.reduce((changed, put) => withText(changed, put), before)
  const strange = own
    .filter(({ path, text }) => valueAt(document.tree, path) !== text)
    .map(({ path }): Fault => {
      const expected = 'a key of a map, or an item of a list that has it'
      return { path, message: 'the file has no such place', expected }
    })
  return { document, strange }
}

/** Reports an `entryOf` unless it names a strategy that buys the sold token with the watched price's quote. */
function strangeEntries(files: readonly StrategyFile[]): Problem[] {
  const strategies = new Map(
    files.flatMap(({ strategy }) => (strategy ? [[strategy.name, strategy]] : [])),
  )
  // A file with a fault, which is already reported, may be the named one.
  if (files.some(({ strategy }) => strategy === undefined)) return []
  return files.flatMap(({ document, strategy }) => {
    const entry = strategy && kindOf(strategy).entry(strategy)
    if (document === undefined || entry === undefined) return []
    const { of, bought, paidIn } = entry
    const path = ['entryOf']
    const named = strategies.get(of)
    if (named === undefined) {
      const message = 'no strategy has this name'
      const expected = 'the name of a strategy of this directory'
      const suggestion = nearest(of, strategies.keys())
      return [locate(document, { path, message, expected, suggestion })]
    }
    const isBuyer =
      'buy' in named &&
      named.buy.token.address === bought.address &&
      named.sell.token.address === paidIn.address
    if (isBuyer) return []
    const message = `${of} does not buy ${bought.symbol} with ${paidIn.symbol}`
    const expected = `a strategy that sells ${paidIn.symbol} and buys ${bought.symbol}`
    return [locate(document, { path, message, expected })]
  })
}

/** Strategies of one name would share order ids, so that one of them would never trade. */
function duplicateNames(files: readonly StrategyFile[]): Problem[] {
  const firstFile = new Map<string, string>()
  return files.flatMap(({ document }) => {
    const name = document && valueAt(document.tree, ['name'])
    if (document === undefined || typeof name !== 'string') return []
    if (name === MANUAL) {
      const message = 'this is the name of orders by hand (`tranched sell`, `tranched buy`)'
      return [locate(document, { path: ['name'], message, expected: 'another name' })]
    }
    const first = firstFile.get(name)
    if (first === undefined) {
      firstFile.set(name, document.source.file)
      return []
    }
    const message = `this name is taken by ${first}`
    return [locate(document, { path: ['name'], message, expected: 'a name of its own' })]
  })
}
