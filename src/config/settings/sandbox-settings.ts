import {
  type ConfigDocument,
  type Fault,
  isMap,
  pathKey,
  type Tree,
  valueAt,
} from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'

const ORIGIN = 'the running sandbox'

/** Keys that a sandbox file must not set: with them, a rehearsal could reach real money. */
const SUPPLIED_BY_SANDBOX: readonly Path[] = [
  ...['wallets', 'chains', 'tokens', 'prices'].map((key) => [key]),
  ...['baseUrl', 'chain', 'wallet', 'permit2', 'spenders'].map((key) => ['gasless', key]),
  ...['rpcUrl', 'chain', 'wallet', 'contracts', 'targets'].map((key) => ['aggregator', key]),
]

/** Faults of a `mode: sandbox` file that sets services, chains or keys. */
export function sandboxFaults(document: ConfigDocument): Fault[] {
  return SUPPLIED_BY_SANDBOX.filter((path) => valueAt(document.tree, path) !== undefined).map(
    (path) => ({
      path,
      at: 'key',
      message: 'in sandbox mode the sandbox supplies this',
      expected: 'this key removed, or `mode: dry-run` or `mode: live`',
    }),
  )
}

/**
 * Merges a running sandbox's settings (an object with a config file's keys) into the document by key. The file's values win.
 */
export function completeSandbox(document: ConfigDocument, sandbox: unknown): ConfigDocument {
  const origins = new Map(document.origins)
  const tree = merge(document.tree, toTree(sandbox), { path: [], origins })
  return { ...document, tree, origins }
}

function merge(own: Tree, added: Tree, at: { path: Path; origins: Map<string, string> }): Tree {
  if (!isMap(own) || !isMap(added)) return own
  const merged: Record<string, Tree> = { ...own }
  for (const [key, value] of Object.entries(added)) {
    const path = [...at.path, key]
    const ownValue = own[key]
    if (ownValue === undefined) at.origins.set(pathKey(path), ORIGIN)
    merged[key] = ownValue === undefined ? value : merge(ownValue, value, { ...at, path })
  }
  return merged
}

/** The schemas expect text, as from a file. */
export function toTree(value: unknown): Tree {
  if (value === null || typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(toTree)
  if (typeof value === 'object') {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    return Object.fromEntries(entries.map(([key, item]) => [key, toTree(item)]))
  }
  if (Number.isSafeInteger(value) || typeof value === 'bigint' || typeof value === 'boolean')
    return String(value)
  throw new TypeError(`a sandbox config cannot hold a ${typeof value}`)
}
