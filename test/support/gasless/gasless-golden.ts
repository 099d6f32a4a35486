import { readFileSync } from 'node:fs'

export type GaslessShape =
  | 'token'
  | 'quote-request-sell'
  | 'quote-request-buy'
  | 'quote-response'
  | 'create-order-request'
  | 'create-order-response'
  | 'order'
  | 'error-response'

/** One change to the example: the field at that path gets the value, or is removed when there is none. */
export type Variant = { readonly name: string; readonly field: string; readonly value?: unknown }

/** Examples written from the interface description alone, never from the schemas. */
type Golden = {
  readonly example: Readonly<Record<string, unknown>>
  readonly valid: readonly Variant[]
  readonly invalid: readonly Variant[]
}

export function golden(shape: GaslessShape): Golden {
  const file = new URL(`../golden/gasless/${shape}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Golden
}

/** The example with every field. */
export function goldenExample(shape: GaslessShape): Readonly<Record<string, unknown>> {
  return golden(shape).example
}
