import { printable } from '../../domain/text/outside-text.ts'
import { maskSecrets } from './mask.ts'
import {
  codeFrame,
  formatPath,
  type Path,
  type Problem,
  positionOf,
  type Range,
  type Source,
} from './problem.ts'

/** Content of a YAML text, with every scalar as its source text; null for an empty value. */
export type Tree = string | null | readonly Tree[] | TreeMap
type TreeMap = { readonly [key: string]: Tree }

export type Spot = {
  readonly key: Range | undefined
  readonly value: Range
  /** Offset of the first character of a plain or quoted scalar; undefined otherwise. */
  readonly textStart: number | undefined
}

/** A tree, and the origin of each part. */
export type ConfigDocument = {
  readonly source: Source
  readonly tree: Tree
  readonly spots: ReadonlyMap<string, Spot>
  /** Parts that do not come from the file: path key -> name of their origin. */
  readonly origins: ReadonlyMap<string, string>
}

/** A fault at a path of a document; `locate` turns it into a problem. */
export type Fault = {
  readonly path: Path
  readonly message: string
  readonly expected: string
  readonly suggestion?: string | undefined
  /** Suggested replacement. */
  readonly hint?: string | undefined
  /** Puts the caret at the key instead of the value. */
  readonly at?: 'key' | undefined
  /** The wrong part of a scalar's text. */
  readonly part?: { readonly offset: number; readonly length: number } | undefined
  /** Hides the source line, which holds a credential that masking may not recognize. */
  readonly isSecret?: true | undefined
  /** Overrides the position, for faults without a path. */
  readonly range?: Range | undefined
}

export function pathKey(path: Path): string {
  return path.join('\u0000')
}

/** Undefined if the tree has no value there. */
export function valueAt(tree: Tree, path: Path): Tree | undefined {
  let here: Tree | undefined = tree
  for (const part of path) {
    if (here === null || typeof here !== 'object') return undefined
    here = Object.hasOwn(here, part) ? (here as Record<string | number, Tree>)[part] : undefined
  }
  return here
}

/**
 * Returns the document with `text` at a path, and records its origin. Leaves the tree unchanged if the path leads through
 * something other than a map, or beyond a list's end: the file's own fault is reported instead.
 */
export function withText(
  document: ConfigDocument,
  put: { readonly path: Path; readonly text: string; readonly origin: string },
): ConfigDocument {
  const origins = new Map(document.origins).set(pathKey(put.path), put.origin)
  return { ...document, tree: withValue(document.tree, put.path, put.text), origins }
}

function withValue(tree: Tree | undefined, path: Path, value: string): Tree {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (tree === undefined) return { [key]: withValue(undefined, rest, value) }
  if (Array.isArray(tree))
    return tree.map((item, index) => (index === key ? withValue(item, rest, value) : item))
  return isMap(tree) ? { ...tree, [key]: withValue(tree[key], rest, value) } : tree
}

export function isMap(tree: Tree): tree is TreeMap {
  return tree !== null && typeof tree === 'object' && !Array.isArray(tree)
}

export function* scalarsOf(tree: Tree, path: Path = []): Generator<{ path: Path; text: string }> {
  if (typeof tree === 'string') yield { path, text: tree }
  else if (Array.isArray(tree))
    for (const [index, item] of tree.entries()) yield* scalarsOf(item, [...path, index])
  else if (tree !== null)
    for (const [key, value] of Object.entries(tree)) yield* scalarsOf(value, [...path, key])
}

/** A fault as a problem, with its position in the file or the name of its origin. */
export function locate(document: ConfigDocument, fault: Fault): Problem {
  const { expected, suggestion, hint } = fault
  const message = shown(fault.message)
  const path = shown(formatPath(fault.path))
  const origin = nearestIn(document.origins, fault.path)
  const hints = {
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(hint === undefined ? {} : { hint: shown(hint) }),
  }
  const words = { path, message, expected, ...hints }
  if (origin !== undefined) return { file: origin, line: 0, column: 0, ...words, frame: '' }
  const range = rangeOfFault(document, fault)
  return {
    file: document.source.file,
    ...positionOf(document.source, range[0]),
    ...words,
    frame: fault.isSecret === true ? '' : codeFrame(document.source, range),
  }
}

/** Masks secrets and control characters in text that may quote a file. */
function shown(text: string): string {
  return printable(maskSecrets(text))
}

/** The entry at a path, or at its nearest parent that has one. */
function nearestIn<Found>(entries: ReadonlyMap<string, Found>, path: Path): Found | undefined {
  const own = entries.get(pathKey(path))
  return own !== undefined || path.length === 0 ? own : nearestIn(entries, path.slice(0, -1))
}

/** A fault at a missing path (such as a missing key) points to the key of its nearest existing parent. */
function rangeOfFault(document: ConfigDocument, fault: Fault): Range {
  if (fault.range !== undefined) return fault.range
  const spot = document.spots.get(pathKey(fault.path))
  if (spot === undefined) {
    const above = nearestIn(document.spots, fault.path)
    const [start] = above?.value ?? [0]
    return above?.key ?? [start, start + 1]
  }
  if (fault.at === 'key') return spot.key ?? spot.value
  if (fault.part === undefined || spot.textStart === undefined) return spot.value
  const start = Math.min(spot.textStart + fault.part.offset, spot.value[1])
  return [start, start + fault.part.length]
}
