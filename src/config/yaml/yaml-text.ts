import { Composer, type CST, type Document, Lexer, Parser, type YAMLError } from 'yaml'
import type { Fault } from './document.ts'
import type { Range } from './problem.ts'

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
export function composeYaml(text: string): YamlText {
  const lexer = new Lexer()
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let errors = 0
  for (const lexeme of lexer.lex(text)) {
    for (const token of parser.next(lexeme)) {
      tokens.push(token)
      if (token.type === 'error') errors += 1
    }
    if (parser.stack.length > NESTING_MAX)
      return refused([parser.offset, parser.offset + 1], 'this is nested too deeply')
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
    faults.push({
      range: [start, start + 1],
      message: 'a second document begins here',
      expected: 'one YAML document in a file: remove the `---`',
    })
  }
  return { document, faults }
}

function refused(range: Range, message: string): YamlText {
  const expected = `at most ${NESTING_MAX} levels`
  return { document: undefined, faults: [{ range, message, expected }] }
}

/** Replaces messages that quote the source, which may hold a secret. */
function toFault(error: YAMLError): TextFault {
  const range: Range = [error.pos[0], error.pos[1]]
  switch (error.code) {
    case 'TAG_RESOLVE_FAILED':
      return {
        range,
        message: 'tags have no meaning here',
        expected: 'the plain value, without its `!` word',
      }
    case 'UNEXPECTED_TOKEN':
      return {
        range,
        message: 'this does not belong here',
        expected: 'YAML: check the indentation, brackets and quotes before this place',
      }
    case 'BAD_DIRECTIVE':
    case 'IMPOSSIBLE':
      return { range, message: 'this is not YAML', expected: 'YAML 1.2 without directives' }
    default:
      return {
        range,
        message: `this is not YAML: ${lowerFirst(error.message)}`,
        expected: 'YAML: check the indentation, brackets and quotes before this place',
      }
  }
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
