/**
 * What belongs in no repository, each with the other ways to say it. No way of naming what is inside a directory counts: of
 * those, a later line may take a file out again.
 */
const RULES: readonly { readonly rule: string; readonly covers: RegExp }[] = [
  { rule: 'keys/', covers: /^(\*\*\/|\/)?keys\/?$/ },
  { rule: 'data/', covers: /^(\*\*\/|\/)?data\/?$/ },
  { rule: '*.pass', covers: /^(\*\*\/)?\*\.pass$/ },
  { rule: '*.anchor', covers: /^(\*\*\/)?\*\.anchor$/ },
  { rule: '.env', covers: /^(\*\*\/|\/)?\.env\*?$/ },
]

const WHY = '# Keys, passwords and the state of the daemon belong in no repository.'

/** The rules that a `.gitignore` lacks: a line that says so is missing, or a later one takes it back. */
export function missingRules(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd())
  return RULES.filter(({ rule, covers }) => {
    const covering = lines.findLastIndex((line) => covers.test(line))
    const after = lines.slice(covering + 1)
    return covering < 0 || after.some((line) => line.startsWith('!') && takesBack(line, rule))
  }).map(({ rule }) => rule)
}

/** Whether a line may make git look again at something that a rule keeps out; of one with wildcards it is taken for granted. */
function takesBack(line: string, rule: string): boolean {
  const pattern = line.slice(1)
  if (/[*?[]/.test(pattern)) return true
  if (rule.startsWith('*')) return pattern.endsWith(rule.slice(1))
  return pattern.replace(/^\/|\/$/g, '') === rule.replace(/\/$/, '')
}

/** The text with rules at its end, where they count most. */
export function withRules(text: string, rules: readonly string[]): string {
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${[WHY, ...rules].join('\n')}\n`
}
