import { type Tree, valueAt } from '../../config/yaml/document.ts'
import { readDiskFile, readText } from '../../config/yaml/files.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import type { CustomStrategy, Strategy } from '../../domain/strategy.ts'
import { termsOf } from '../../execute/authority/terms.ts'

/** Digits of a module's version that tell it from another. */
const VERSION_SHOWN = 12

/** What each strategy's file says, by name. */
export type StrategyTexts = ReadonlyMap<string, StrategyText>

type StrategyText = {
  /** Every scalar by its dotted path. */
  readonly fields: ReadonlyMap<string, string>
  /** Of whatever shapes its orders; undefined while it is disabled. */
  readonly terms: string | undefined
}

/** What becomes of orders that were decided by other terms, or for a strategy that is gone. */
const DROPPED = 'its orders that are not signed yet are dropped'

/** One strategy that is not what it was, in a sentence. */
export type StrategyChange = { readonly strategy: string; readonly text: string }

export function readTexts(strategies: readonly Strategy[], versionOf: VersionOf): StrategyTexts {
  return new Map(
    strategies.map((strategy) => {
      const fields = fieldsOf(strategy, versionOf)
      const terms = strategy.enabled ? termsOf(strategy, versionOf) : undefined
      return [strategy.name, { fields, terms }]
    }),
  )
}

/** The version of a strategy's module, with all that it imports; undefined where it is not known. */
export type VersionOf = (strategy: CustomStrategy) => string | undefined

function fieldsOf(strategy: Strategy, versionOf: VersionOf): ReadonlyMap<string, string> {
  const text = readText(strategy.file, readDiskFile)
  const texts = new Map<string, string>()
  if (text.ok) collect(parseConfigText(strategy.file, text.text).document.tree, '', texts)
  if (strategy.kind !== 'custom') return texts
  // A module that was written again is another one, though its path is the same.
  const version = versionOf(strategy)?.slice(0, VERSION_SHOWN)
  return texts.set('module', `${strategy.module} (${version ?? 'not started'})`)
}

function collect(tree: Tree, path: string, into: Map<string, string>): void {
  if (tree === null || typeof tree === 'string') {
    into.set(path, tree ?? '')
    return
  }
  const names = Array.isArray(tree) ? tree.map((_, index) => index) : Object.keys(tree)
  for (const name of names)
    collect(valueAt(tree, [name]) ?? null, path === '' ? `${name}` : `${path}.${name}`, into)
}

/** What changed from one set of files to the next, field by field. */
export function changesBetween(before: StrategyTexts, after: StrategyTexts): StrategyChange[] {
  const changes: StrategyChange[] = []
  for (const strategy of before.keys())
    if (!after.has(strategy)) changes.push({ strategy, text: `removed; ${DROPPED}` })
  for (const [strategy, { fields: texts, terms }] of after) {
    const old = before.get(strategy)
    if (old === undefined) {
      changes.push({ strategy, text: 'added' })
      continue
    }
    const names = [...new Set([...old.fields.keys(), ...texts.keys()])]
    const changed = names
      .filter((name) => old.fields.get(name) !== texts.get(name))
      .map(
        (name) => `${name} ${old.fields.get(name) ?? '(none)'} -> ${texts.get(name) ?? '(none)'}`,
      )
    const isDropped = old.terms !== undefined && old.terms !== terms
    if (changed.length === 0 && !isDropped) continue
    const what = changed.join(', ') || 'what the config says of it'
    changes.push({ strategy, text: isDropped ? `${what}; ${DROPPED}` : what })
  }
  return changes
}
