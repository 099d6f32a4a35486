/** Metrics in an expression: its identifiers except functions, labels, strings and ranges. */
export function metricsIn(expr: string): readonly string[] {
  const bare = expr
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left)\s*\([^)]*\)/g, '')
  const words = bare.match(/[a-zA-Z_][\w:]*(?![\w:]*\s*\()/g) ?? []
  return words.filter((word) => word.includes('_') || word === 'up' || word === 'ALERTS')
}
