import type { Reading } from '../../config/scalars.ts'

export type AbiParam = {
  readonly type: string
  readonly name?: string
  readonly components?: readonly AbiParam[]
}

export type FunctionSignature = { readonly name: string; readonly inputs: readonly AbiParam[] }

const SPACE = /\s*/y
const WORD = /[A-Za-z_$][A-Za-z0-9_$]*/y
const ARRAYS = /(?:\[[1-9]\d{0,2}\]|\[\])*/y
const LENGTH_MAX = 1_000
const DEPTH_MAX = 8
const LOCATIONS = ['memory', 'calldata', 'payable']

const ALIASES = new Map([
  ['uint', 'uint256'],
  ['int', 'int256'],
])

class SignatureFault extends Error {
  readonly part: { readonly offset: number; readonly length: number }
  constructor(message: string, part: { readonly offset: number; readonly length: number }) {
    super(message)
    this.part = part
  }
}

/**
 * Reads `claim(address)`, with or without parameter names and the word `function`; tuples are lists of types in parentheses.
 * Not a library, because libraries do not report where a signature is wrong.
 */
export function parseSignature(text: string): Reading<FunctionSignature> {
  try {
    if (text.length > LENGTH_MAX)
      throw new SignatureFault('this is too long', { offset: 0, length: 1 })
    return { ok: true, value: new SignatureReader(text).read() }
  } catch (error) {
    if (error instanceof SignatureFault)
      return { ok: false, message: error.message, part: error.part }
    throw error
  }
}

class SignatureReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): FunctionSignature {
    let name = this.#word('a function name is missing here')
    if (name === 'function') name = this.#word('a function name is missing here')
    const inputs = this.#params(0)
    this.#match(SPACE)
    if (this.#at < this.#text.length)
      throw this.#fault('nothing may follow the closing parenthesis', this.#text.length - this.#at)
    return { name, inputs }
  }

  #params(depth: number): AbiParam[] {
    if (depth > DEPTH_MAX) throw this.#fault('tuples are nested too deeply here')
    this.#expect('(', 'a `(` is missing here')
    const params: AbiParam[] = []
    if (this.#take(')')) return params
    for (;;) {
      params.push(this.#param(depth))
      if (this.#take(')')) return params
      this.#expect(',', 'a `,` or `)` is missing here')
    }
  }

  #param(depth: number): AbiParam {
    this.#match(SPACE)
    const isTuple = this.#text[this.#at] === '('
    const base: AbiParam = isTuple
      ? { type: 'tuple', components: this.#params(depth + 1) }
      : this.#named(depth)
    const type = `${base.type}${this.#match(ARRAYS)}`
    const name = this.#name()
    return { ...base, type, ...(name === '' ? {} : { name }) }
  }

  /** An elementary type, or a tuple after the word `tuple`. */
  #named(depth: number): AbiParam {
    const start = this.#at
    const word = this.#word('a type is missing here')
    if (word === 'tuple') return { type: 'tuple', components: this.#params(depth + 1) }
    const type = ALIASES.get(word) ?? word
    if (isElementary(type)) return { type }
    this.#at = start
    throw this.#fault('there is no such type', word.length)
  }

  #name(): string {
    this.#match(SPACE)
    const word = this.#match(WORD)
    if (!LOCATIONS.includes(word)) return word
    this.#match(SPACE)
    return this.#match(WORD)
  }

  #word(missing: string): string {
    this.#match(SPACE)
    const word = this.#match(WORD)
    if (word === '') throw this.#fault(missing)
    return word
  }

  #expect(character: string, missing: string): void {
    if (!this.#take(character)) throw this.#fault(missing)
  }

  #take(character: string): boolean {
    this.#match(SPACE)
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found = ''] = pattern.exec(this.#text) ?? []
    this.#at += found.length
    return found
  }

  /** Points at the current character, or at the last one if the text has ended. */
  #fault(message: string, length = 1): SignatureFault {
    const offset = Math.min(this.#at, Math.max(0, this.#text.length - 1))
    return new SignatureFault(message, { offset, length })
  }
}

function isElementary(type: string): boolean {
  if (['address', 'bool', 'string', 'bytes'].includes(type)) return true
  const [, kind, digits = ''] = /^(uint|int|bytes)([1-9]\d{0,2})$/.exec(type) ?? []
  if (kind === undefined) return false
  const size = Number(digits)
  return kind === 'bytes' ? size <= 32 : size <= 256 && size % 8 === 0
}
