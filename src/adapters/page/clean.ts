/** Takes secrets out of a text, as the log does. */
export type Clean = (text: string) => string

/** Addresses of web pages: they are put together of parts that were looked at, and would be cut to nothing as text. */
const KEPT: ReadonlySet<string> = new Set(['explorerUrl'])

/** A JSON value whose every text has gone where the log's texts go. Names of fields are our own. */
export function cleaned<Value>(value: Value, clean: Clean): Value {
  return cleanedValue(value, clean) as Value
}

function cleanedValue(value: unknown, clean: Clean): unknown {
  if (typeof value === 'string') return clean(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => cleanedValue(item, clean))
  const fields = Object.entries(value).map(([name, field]): [string, unknown] => [
    name,
    KEPT.has(name) ? field : cleanedValue(field, clean),
  ])
  return Object.fromEntries(fields)
}
