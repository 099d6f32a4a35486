/** Metrics in an expression: its identifiers except functions, labels, strings and ranges. */
export function metricsIn(expr: string): readonly string[] {
  const bare = expr
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left)\s*\([^)]*\)/g, '')
  const identifiers = bare.match(/[a-zA-Z_][\w:]*(?![\w:]*\s*\()/g) ?? []
  return identifiers.filter(
    (identifier) => identifier.includes('_') || identifier === 'up' || identifier === 'ALERTS',
  )
}
