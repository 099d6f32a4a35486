import { readFileSync } from 'node:fs'
import type { Variant } from '../gasless/gasless-golden.ts'

export type AggregatorShape =
  | 'rpc-request'
  | 'rpc-result'
  | 'rpc-error'
  | 'send-raw-transaction-params'
  | 'send-bundle-params'
  | 'hash-params'
  | 'account-info-params'
  | 'transaction-status-params'
  | 'account-info'
  | 'receipt'
  | 'transaction-status'

/** A change that is refused; `blamed` is the path that the error names when it is not the changed field's. */
export type BadVariant = Variant & { readonly blamed?: string }

/** Examples written from the interface description alone, never from the schemas. */
type Golden = {
  readonly example: object
  readonly valid: readonly Variant[]
  readonly invalid: readonly BadVariant[]
}

export function aggregatorGolden(shape: AggregatorShape): Golden {
  const file = new URL(`../golden/aggregator/${shape}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as Golden
}

/** The example with one field changed, or removed when the variant has no value. */
export function changed(example: object, variant: Variant): object {
  const copy = structuredClone(example)
  const path = variant.field.split('.')
  const last = path.pop() ?? ''
  const parent = path.reduce<object>((node, key) => Reflect.get(node, key), copy)
  if ('value' in variant) Reflect.set(parent, last, variant.value)
  else Reflect.deleteProperty(parent, last)
  return copy
}
