import { type Tree, valueAt } from '../../config/yaml/document.ts'
import { readDiskFile, readText } from '../../config/yaml/files.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import type { CustomStrategy, Strategy } from '../../domain/strategy.ts'

/** Digits of a module's version that tell it from another. */
const VERSION_SHOWN = 12

/** What each strategy's file says, by name: every scalar by its dotted path. */
export type StrategyTexts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** One strategy that is not what it was, in a sentence. */
export type StrategyChange = { readonly strategy: string; readonly text: string }

export function readTexts(strategies: readonly Strategy[], versionOf: VersionOf): StrategyTexts {
  return new Map(strategies.map((strategy) => [strategy.name, textsOf(strategy, versionOf)]))
}

/** The version of a strategy's module, with all that it imports; undefined where it is not known. */
export type VersionOf = (strategy: CustomStrategy) => string | undefined

function textsOf(strategy: Strategy, versionOf: VersionOf): ReadonlyMap<string, string> {
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
    if (!after.has(strategy)) changes.push({ strategy, text: 'removed' })
  for (const [strategy, texts] of after) {
    const old = before.get(strategy)
    if (old === undefined) {
      changes.push({ strategy, text: 'added' })
      continue
    }
    const names = [...new Set([...old.keys(), ...texts.keys()])]
    const fields = names
      .filter((name) => old.get(name) !== texts.get(name))
      .map((name) => `${name} ${old.get(name) ?? '(none)'} -> ${texts.get(name) ?? '(none)'}`)
    if (fields.length > 0) changes.push({ strategy, text: fields.join(', ') })
  }
  return changes
}
