/** Stands for a bigint, which JSON has none of. */
const BIG = '$bigint'

/** JSON in which bigints stand as what they are. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) =>
    typeof field === 'bigint' ? { [BIG]: field.toString() } : field,
  )
}

/** What `encode` was given, without fields that were undefined. Throws SyntaxError for other text. */
export function decode(text: string): unknown {
  return JSON.parse(text, (_, field: unknown) => {
    const digits = isMap(field) ? field[BIG] : undefined
    return typeof digits === 'string' ? BigInt(digits) : field
  })
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
