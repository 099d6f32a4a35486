import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  Parser,
  type Scalar,
  type YAMLError,
} from 'yaml'
import { parseCron } from '../../domain/schedule/cron.ts'
import { type ConfigDocument, type Fault, pathKey, type Spot, type Tree } from './document.ts'
import { type Path, type Range, toSource } from './problem.ts'

/** Bounds the tree: aliases are expanded in place, so a few lines of anchors could grow without limit. */
const NODES_MAX = 50_000

type Parsed = { readonly document: ConfigDocument; readonly faults: readonly Fault[] }

/** A command reads its config several times in a row. */
let latest: (Parsed & { readonly text: string }) | undefined

/**
 * Reads a YAML text into a tree with positions. Values stay text (an unquoted address never becomes a float). Refuses YAML's
 * surprises: duplicate keys, tags, several documents, keys that are not words.
 */
export function parseConfigText(file: string, text: string): Parsed {
  if (latest?.text !== text || latest.document.source.file !== file)
    latest = { ...parse(file, text), text }
  return latest
}

function parse(file: string, text: string): Parsed {
  const source = toSource(file, text)
  const yaml = composeYaml(text)
  const faults: Fault[] = yaml.faults.map((fault) => ({ path: [], ...fault }))
  const seen = { spots: new Map(), anchors: new Map(), open: new Set(), nodes: 0 }
  const walk: Walk = { ...seen, faults, text }
  const tree = yaml.document ? readNode(walk, yaml.document.contents, []) : null
  const document = { source, tree, spots: walk.spots, origins: new Map() }
  return { document, faults: withoutRepeats(faults, text) }
}

type Walk = {
  readonly spots: Map<string, Spot>
  readonly anchors: Map<string, unknown>
  /** Anchored nodes being read: meeting one again is a cycle. */
  readonly open: Set<unknown>
  readonly faults: Fault[]
  readonly text: string
  nodes: number
}

function readNode(walk: Walk, node: unknown, path: Path, key?: Range): Tree {
  walk.nodes += 1
  if (walk.nodes > NODES_MAX) return null
  if (walk.nodes === NODES_MAX) {
    const message = 'this file holds too many values, those that aliases repeat included'
    walk.faults.push({ path, message, expected: `at most ${NODES_MAX} values` })
    return null
  }
  if (isAlias(node)) return readAlias(walk, node, path, key)
  const value = rangeOf(node) ?? key ?? [0, 0]
  const textStart = isScalar(node) ? textStartOf(node, value) : undefined
  walk.spots.set(pathKey(path), { key, value, textStart })
  if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined)
    walk.anchors.set(node.anchor, node)
  walk.open.add(node)
  const tree = readContents(walk, node, path)
  walk.open.delete(node)
  return tree
}

function readContents(walk: Walk, node: unknown, path: Path): Tree {
  if (isScalar(node)) return scalarText(node)
  if (isSeq(node)) return node.items.map((item, index) => readNode(walk, item, [...path, index]))
  if (isMap(node)) return readMap(walk, node.items, path)
  return null
}

function readMap(walk: Walk, pairs: readonly Pair[], path: Path): Tree {
  const names = new Set<string>()
  const entries: [string, Tree][] = []
  for (const pair of pairs) {
    const key = isScalar(pair.key) ? scalarText(pair.key) : null
    const range = rangeOf(pair.key) ?? [0, 0]
    if (key === null || key === '__proto__') {
      const message = 'this is not a usable key'
      walk.faults.push({ path, range, message, expected: 'a plain word' })
      continue
    }
    if (names.has(key)) {
      const expected = 'each key once: remove one of the two'
      const message = 'this key stands here twice'
      walk.faults.push({ path: [...path, key], range, message, expected })
      continue
    }
    names.add(key)
    entries.push([key, readNode(walk, pair.value, [...path, key], range)])
  }
  return Object.fromEntries(entries)
}

function readAlias(walk: Walk, alias: Alias, path: Path, key: Range | undefined): Tree {
  const target = walk.anchors.get(alias.source)
  const range = rangeOf(alias) ?? [0, 0]
  if (target === undefined || walk.open.has(target)) {
    const written = target === undefined ? PATTERN.exec(walk.text.slice(range[0]))?.[0] : undefined
    walk.faults.push({ path, range, ...aliasFault(written, target !== undefined) })
    return null
  }
  return readNode(walk, target, path, key)
}

/** YAML reads an unquoted cron pattern that begins with `*` as an alias, which authors rarely expect. */
function aliasFault(
  pattern: string | undefined,
  isCircle: boolean,
): Pick<Fault, 'message' | 'expected' | 'hint'> {
  if (pattern === undefined)
    return {
      message: isCircle ? 'this alias names itself' : 'nothing above has this anchor',
      expected: 'the name of an anchor (`&name`) above',
    }
  return {
    message: 'what begins with * and stands without quotes is an alias to YAML',
    expected: QUOTES,
    hint: parseCron(pattern).ok ? `\`cron: "${pattern}"\`` : undefined,
  }
}

const QUOTES = 'put the pattern in quotes'

/** Fields of a cron pattern whose first begins with a star. */
const PATTERN = /^\*(?:\/\d{1,4})?(?: [\w*?](?:[\w*?/,#-]{0,40}[\w*?])?){1,5}/

/** Drops repeats, as aliases may lead to one fault, and other faults in the line of an unquoted pattern that causes them. */
function withoutRepeats(faults: readonly Fault[], text: string): readonly Fault[] {
  const known = new Set<string>()
  const lineOf = ([start]: Range): number => text.lastIndexOf('\n', start - 1)
  const patterns = faults.flatMap(({ range, expected }) =>
    range === undefined || expected !== QUOTES ? [] : [{ start: range[0], line: lineOf(range) }],
  )
  return faults.filter(({ range, message, expected }) => {
    if (range === undefined) return true
    const key = `${range[0]} ${message}`
    if (known.has(key)) return false
    known.add(key)
    const follows = patterns.some(({ start, line }) => range[0] >= start && lineOf(range) === line)
    return expected === QUOTES || !follows
  })
}

function textStartOf(node: Scalar, value: Range): number | undefined {
  if (node.type === 'PLAIN') return value[0]
  if (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE') return value[0] + 1
  return undefined
}

function rangeOf(node: unknown): Range | undefined {
  return isNode(node) && node.range ? [node.range[0], node.range[1]] : undefined
}

const NULL_WORDS = new Set(['', '~', 'null', 'Null', 'NULL'])

function scalarText(node: Scalar): string | null {
  const text = typeof node.value === 'string' ? node.value : ''
  return node.type === 'PLAIN' && NULL_WORDS.has(text) ? null : text
}

/** Nested collections. Deeper text is an attack or an accident, and deep recursion crashes the process. */
const NESTING_MAX = 64
const ERRORS_MAX = 20

/** A fault of the text itself, found before there is a tree. */
type TextFault = Pick<Fault, 'message' | 'expected'> & { readonly range: Range }

type YamlText = {
  readonly document: Document.Parsed | undefined
  readonly faults: readonly TextFault[]
}

/**
 * Composes one YAML 1.2 document under the failsafe schema, so that every scalar keeps its source text.
 *
 * Feeds the package's parser token by token, because nesting can be bounded only between tokens: its composer recurses, and
 * a megabyte of `[` ends the process with no exception to catch.
 */
function composeYaml(text: string): YamlText {
  const lexer = new Lexer()
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let errors = 0
  for (const lexeme of lexer.lex(text)) {
    for (const token of parser.next(lexeme)) {
      tokens.push(token)
      if (token.type === 'error') errors += 1
    }
    if (parser.stack.length > NESTING_MAX) {
      const range: Range = [parser.offset, parser.offset + 1]
      const expected = `at most ${NESTING_MAX} levels`
      const fault = { range, message: 'this is nested too deeply', expected }
      return { document: undefined, faults: [fault] }
    }
    if (errors > ERRORS_MAX) break
  }
  tokens.push(...parser.end())
  const composer = new Composer({
    schema: 'failsafe',
    version: '1.2',
    merge: false,
    prettyErrors: false,
    // The tree walk finds duplicate keys: the package would compare every key with every other.
    uniqueKeys: false,
  })
  const [document, second] = [...composer.compose(tokens, true, text.length)]
  if (document === undefined) return { document: undefined, faults: [] }
  const faults = [...document.errors, ...document.warnings].slice(0, ERRORS_MAX).map(toFault)
  if (second !== undefined) {
    const [start] = second.range
    const expected = 'one YAML document in a file: remove the `---`'
    faults.push({ range: [start, start + 1], message: 'a second document begins here', expected })
  }
  return { document, faults }
}

/** Replaces messages that quote the source, which may hold a secret. */
function toFault({ code, pos, message }: YAMLError): TextFault {
  const range: Range = [pos[0], pos[1]]
  const checked = 'YAML: check the indentation, brackets and quotes before this place'
  switch (code) {
    case 'TAG_RESOLVE_FAILED': {
      const expected = 'the plain value, without its `!` word'
      return { range, message: 'tags have no meaning here', expected }
    }
    case 'UNEXPECTED_TOKEN':
      return { range, message: 'this does not belong here', expected: checked }
    case 'MULTILINE_IMPLICIT_KEY': {
      const expected = '`key: value`, with a space after the colon'
      return { range, message: 'there is no key with a value here', expected }
    }
    case 'BAD_DIRECTIVE':
    case 'IMPOSSIBLE':
      return { range, message: 'this is not YAML', expected: 'YAML 1.2 without directives' }
    default: {
      const what = message.charAt(0).toLowerCase() + message.slice(1)
      return { range, message: `this is not YAML: ${what}`, expected: checked }
    }
  }
}
