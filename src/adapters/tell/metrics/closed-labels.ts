const LABEL_VALUES_MAX = 64
const LABEL_VALUE = /^[\w-]{1,40}$/
const LOOKS_LIKE_ID = /0x|\d{6}|[0-9a-f]{16}/i

/**
 * Keeps a label's set of values closed where its type is text: words pass, up to 64 different ones; ids, addresses and
 * whatever comes after them become `other`. Make one for each label.
 */
export function closedLabels(): (value: string) => string {
  const seen = new Set<string>()
  return (value) => {
    if (seen.has(value)) return value
    if (seen.size >= LABEL_VALUES_MAX || !LABEL_VALUE.test(value) || LOOKS_LIKE_ID.test(value))
      return 'other'
    seen.add(value)
    return value
  }
}
