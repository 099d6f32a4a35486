import { statSync } from 'node:fs'
import { type Tree, valueAt } from '../../config/yaml/document.ts'
import { readDiskFile, readText } from '../../config/yaml/files.ts'
import { parseConfigText } from '../../config/yaml/tree.ts'
import type { Strategy } from '../../domain/strategy.ts'

/** What each strategy's file says, by name: every scalar by its dotted path. */
export type StrategyTexts = ReadonlyMap<string, ReadonlyMap<string, string>>

/** One strategy that is not what it was, in a sentence. */
export type StrategyChange = { readonly strategy: string; readonly text: string }

export function readTexts(strategies: readonly Strategy[]): StrategyTexts {
  return new Map(strategies.map((strategy) => [strategy.name, textsOf(strategy)]))
}

function textsOf(strategy: Strategy): ReadonlyMap<string, string> {
  const text = readText(strategy.file, readDiskFile)
  const texts = new Map<string, string>()
  if (text.ok) collect(parseConfigText(strategy.file, text.text).document.tree, '', texts)
  if (strategy.kind === 'custom') texts.set('module', moduleVersion(strategy.module))
  return texts
}

/** A module that was written again is another one, though its path is the same. */
function moduleVersion(module: string): string {
  const written = statSync(module, { throwIfNoEntry: false })?.mtime.toISOString() ?? 'gone'
  return `${module} of ${written}`
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
