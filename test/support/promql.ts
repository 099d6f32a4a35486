/** Metrics in an expression: its identifiers except functions, labels, strings, ranges and offsets. */
export function metricsIn(expr: string): readonly string[] {
  const bare = expr
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]|\boffset \S+/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left)\s*\([^)]*\)/g, '')
  const identifiers = bare.match(/[a-zA-Z_][\w:]*(?![\w:]*\s*\()/g) ?? []
  return identifiers.filter(
    (identifier) => identifier.includes('_') || identifier === 'up' || identifier === 'ALERTS',
  )
}
