import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Rule = { readonly isException: boolean; readonly pattern: string }

/** Every file of a directory that a builder receives, by its `.dockerignore`. */
export function contextOf(directory: string): readonly string[] {
  const rules = readFileSync(join(directory, '.dockerignore'), 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(ruleOf)
  return filesIn(directory, '', rules)
}

function ruleOf(line: string): Rule {
  const isException = line.startsWith('!')
  const pattern = isException ? line.slice(1) : line
  // `**`, `?`, classes and trailing slashes have special meanings, which our file does not use.
  if (!/^[\w./*-]+$/.test(pattern) || /\*\*|^\/|\/$/.test(pattern))
    throw new Error(`.dockerignore: ${line}`)
  return { isException, pattern }
}

function filesIn(root: string, folder: string, rules: readonly Rule[]): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`
    const isSent = isIncluded(path, rules)
    if (!entry.isDirectory()) return isSent ? [path] : []
    return isSent || mayHoldExceptions(path, rules) ? filesIn(root, path, rules) : []
  })
}

/** The last matching rule decides; a rule that matches a folder matches its contents. */
function isIncluded(path: string, rules: readonly Rule[]): boolean {
  const parts = path.split('/')
  const prefixes = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
  const last = rules.findLast(({ pattern }) => prefixes.some((prefix) => fits(prefix, pattern)))
  return last === undefined || last.isException
}

function mayHoldExceptions(folder: string, rules: readonly Rule[]): boolean {
  return rules.some(({ isException, pattern }) => isException && pattern.startsWith(`${folder}/`))
}

function fits(path: string, pattern: string): boolean {
  const source = pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')
  return new RegExp(`^${source}$`).test(path)
}
