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

/** What a YAML text says, with every scalar as its source text; null where a value was left empty. */
export type Tree = string | null | readonly Tree[] | TreeMap
type TreeMap = { readonly [key: string]: Tree }

/** Where a value stands in the text, and the key it belongs to. */
export type Spot = {
  readonly key: Range | undefined
  readonly value: Range
  /** Offset of the first character of a plain or quoted scalar; undefined for anything else. */
  readonly textStart: number | undefined
}

/** A tree and where each part of it came from. */
export type ConfigDocument = {
  readonly source: Source
  readonly tree: Tree
  readonly spots: ReadonlyMap<string, Spot>
  /** Parts that no line of the file holds: path key -> what to call their origin. */
  readonly origins: ReadonlyMap<string, string>
}

/** Something wrong at a path of a document; `locate` turns it into a problem. */
export type Fault = {
  readonly path: Path
  readonly message: string
  readonly expected: string
  readonly suggestion?: string | undefined
  /** What to write instead. */
  readonly hint?: string | undefined
  /** Where the caret goes: to the value, unless the key itself is at fault. */
  readonly at?: 'key' | undefined
  /** The part of a scalar's text that is wrong. */
  readonly part?: { readonly offset: number; readonly length: number } | undefined
  /** The line is not shown: it holds a credential, which need not look like one. */
  readonly isSecret?: true | undefined
  /** Overrides the place for faults of the text that have no path. */
  readonly range?: Range | undefined
}

export function pathKey(path: Path): string {
  return path.join('\u0000')
}

/** The value at a path, or undefined where the tree has none. */
export function valueAt(tree: Tree, path: Path): Tree | undefined {
  let here: Tree | undefined = tree
  for (const part of path) {
    if (here === null || typeof here !== 'object') return undefined
    here = Object.hasOwn(here, part) ? (here as Record<string | number, Tree>)[part] : undefined
  }
  return here
}

/**
 * The document with a text in place of the file's value at a path, and the name of the text's origin. If the file has something
 * other than a map on the way, or too short a list, the file is at fault and stays as it is.
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

/** Every scalar of a tree with its path. */
export function* scalarsOf(tree: Tree, path: Path = []): Generator<{ path: Path; text: string }> {
  if (typeof tree === 'string') yield { path, text: tree }
  else if (Array.isArray(tree))
    for (const [index, item] of tree.entries()) yield* scalarsOf(item, [...path, index])
  else if (tree !== null)
    for (const [key, value] of Object.entries(tree)) yield* scalarsOf(value, [...path, key])
}

/** The fault with its place in the file, or with the name of an origin that is no file. */
export function locate(document: ConfigDocument, fault: Fault): Problem {
  const { expected, suggestion, hint } = fault
  const message = shown(fault.message)
  const path = shown(formatPath(fault.path))
  const origin = originOf(document, fault.path)
  const words = {
    path,
    message,
    expected,
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(hint === undefined ? {} : { hint: shown(hint) }),
  }
  if (origin !== undefined) return { file: origin, line: 0, column: 0, ...words, frame: '' }
  const range = rangeOfFault(document, fault)
  return {
    file: document.source.file,
    ...positionOf(document.source, range[0]),
    ...words,
    frame: fault.isSecret === true ? '' : codeFrame(document.source, range),
  }
}

/** Text that repeats what a file says. */
function shown(text: string): string {
  return printable(maskSecrets(text))
}

function originOf(document: ConfigDocument, path: Path): string | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = document.origins.get(pathKey(path.slice(0, length)))
    if (origin !== undefined) return origin
  }
  return undefined
}

/** A fault at a path that is not there (a missing key) is shown at the key of the nearest part that is. */
function rangeOfFault(document: ConfigDocument, fault: Fault): Range {
  if (fault.range !== undefined) return fault.range
  const spot = document.spots.get(pathKey(fault.path))
  if (spot === undefined) return rangeOfNearest(document, fault.path)
  if (fault.at === 'key') return spot.key ?? spot.value
  if (fault.part === undefined || spot.textStart === undefined) return spot.value
  const start = Math.min(spot.textStart + fault.part.offset, spot.value[1])
  return [start, start + fault.part.length]
}

function rangeOfNearest(document: ConfigDocument, path: Path): Range {
  for (let length = path.length - 1; length >= 0; length--) {
    const spot = document.spots.get(pathKey(path.slice(0, length)))
    if (spot !== undefined) return spot.key ?? [spot.value[0], spot.value[0] + 1]
  }
  return [0, 1]
}
