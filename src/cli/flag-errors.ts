type Wording = {
  /** What the parser of the command line says. */
  readonly said: RegExp
  readonly ours: (parts: Readonly<Record<string, string | undefined>>) => string
}

const WORDINGS: readonly Wording[] = [
  {
    said: /^error: option '(?:-\w, )?(?<flag>--[\w-]+)[^']*' argument '[\s\S]*?' is invalid\. /,
    ours: ({ flag }) => `flag ${flag}: `,
  },
  {
    said: /^error: option '(?:-\w, )?(?<usage>(?<flag>--[\w-]+)[^']*)' argument missing/,
    ours: ({ flag, usage }) => `flag ${flag}: its value is missing\n  expected: ${usage}`,
  },
  {
    said: /^error: required option '(?:-\w, )?(?<usage>(?<flag>--[\w-]+)[^']*)' not specified/,
    ours: ({ flag, usage }) => `flag ${flag}: it has to be given\n  expected: ${usage}`,
  },
  {
    said: /^error: unknown option '(?<flag>[^']+)'(?:\n\(Did you mean (?:one of )?(?<near>.+)\?\))?/,
    ours: ({ flag, near }) => `flag ${flag}: unknown flag${near === undefined ? '' : meant(near)}`,
  },
]

/** The parser's error about a flag in the words of problems with files: which flag, what is wrong, what would be right. */
export function flagError(text: string): string {
  for (const { said, ours } of WORDINGS) {
    const { groups } = said.exec(text) ?? {}
    if (groups !== undefined) return text.replace(said, () => ours(groups))
  }
  return text
}

function meant(names: string): string {
  return `\n  did you mean ${names
    .split(', ')
    .map((name) => `\`${name}\``)
    .join(' or ')}?`
}
