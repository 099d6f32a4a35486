import type { ConfigDocument, Fault, Tree } from '../yaml/document.ts'
import type { Path } from '../yaml/problem.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** `$${` (an escaped `${`), `${NAME}`, or a malformed `${`. */
const VARIABLE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{/g

/**
 * Replaces environment variables in a document's scalars: `${NAME}` becomes the variable's value, `$${` a literal `${`. An
 * unset or empty variable is a fault. Keys and the values of variables are never interpolated.
 */
export function interpolate(
  document: ConfigDocument,
  env: Environment,
): { document: ConfigDocument; faults: readonly Fault[] } {
  const faults: Fault[] = []
  const visit = (tree: Tree, path: Path): Tree => {
    if (typeof tree === 'string') return expand(tree, { env, path, faults })
    if (tree === null) return null
    if (Array.isArray(tree)) return tree.map((item, index) => visit(item, [...path, index]))
    const entries = Object.entries(tree)
    return Object.fromEntries(entries.map(([key, value]) => [key, visit(value, [...path, key])]))
  }
  return { document: { ...document, tree: visit(document.tree, []) }, faults }
}

function expand(text: string, context: { env: Environment; path: Path; faults: Fault[] }): string {
  if (!text.includes('${')) return text
  const { env, path, faults } = context
  return text.replace(VARIABLE, (match, name: string | undefined, offset: number) => {
    if (match === '$${') return '${'
    const part = { offset, length: match.length }
    if (name === undefined) {
      const message = 'this `${` names no environment variable'
      const expected = 'a name in braces; `$$` before a brace gives a plain `$`'
      faults.push({ path, part, message, expected })
      return match
    }
    const value = env[name] ?? ''
    if (value !== '') return value
    const message = `the environment variable ${name} is not set`
    const expected = `a value: \`export ${name}=...\` before starting, or write it here`
    faults.push({ path, part, message, expected })
    return match
  })
}
