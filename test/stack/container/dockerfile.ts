/** One instruction of a Dockerfile, with its lines joined. */
export type Instruction = { readonly name: string; readonly text: string }

export type Stage = {
  readonly name: string
  /** Name of an earlier stage, or of an image. */
  readonly base: string
  readonly instructions: readonly Instruction[]
}

export type Dockerfile = {
  /** Defaults of arguments before the first stage, which only `FROM` sees. */
  readonly globals: ReadonlyMap<string, string>
  readonly stages: readonly Stage[]
}

/** Parses the part of the format that our file uses. Throws for anything else, so that no step is skipped unnoticed. */
export function parseDockerfile(text: string): Dockerfile {
  const globals = new Map<string, string>()
  const stages: { name: string; base: string; instructions: Instruction[] }[] = []
  for (const instruction of instructionsIn(text)) {
    const stage = stages.at(-1)
    if (instruction.name === 'FROM') stages.push({ ...fromOf(instruction.text, globals) })
    else if (stage !== undefined) stage.instructions.push(instruction)
    else if (instruction.name === 'ARG') globals.set(...argumentOf(instruction.text))
    else throw new Error(`${instruction.name} before FROM`)
  }
  return { globals, stages }
}

function instructionsIn(text: string): readonly Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*(#|$)/.test(line))
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => {
      const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
      if (name === undefined || rest === undefined) throw new Error(`no instruction: ${line}`)
      return { name, text: rest }
    })
}

function fromOf(text: string, globals: ReadonlyMap<string, string>) {
  const [, base, name] = /^(\S+) AS (\S+)$/.exec(text) ?? []
  if (base === undefined || name === undefined) throw new Error(`FROM ${text}`)
  return { name, base: substitute(base, globals), instructions: [] }
}

/** Name and default; a default that is missing is empty. */
export function argumentOf(text: string): [string, string] {
  const [, name, value = ''] = /^(\w+)(?:=(\S*))?$/.exec(text) ?? []
  if (name === undefined) throw new Error(`ARG ${text}`)
  return [name, value]
}

/** Key-value pairs of ENV and LABEL. */
export function pairsOf(text: string): readonly (readonly [string, string])[] {
  const pairs = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)]
  return pairs.map(([, name = '', quoted, bare = '']) => [name, quoted ?? bare])
}

/** The arguments of an instruction in its exec form: a shell in between would receive the signals. */
export function execFormOf(text: string): readonly string[] {
  const argv: unknown = JSON.parse(text)
  if (!Array.isArray(argv) || argv.some((arg) => typeof arg !== 'string'))
    throw new Error(`not in exec form: ${text}`)
  return argv
}

export function substitute(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name) => values.get(name) ?? '')
}
