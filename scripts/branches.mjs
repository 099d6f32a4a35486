// `npm run check:branches`: code outside `src/strategies` may not compare kinds of strategies by name, nor code outside
// `src/venues` venues: it uses the registry. Reports comparisons, switches, and tables and lists keyed by two or more
// names. `--root DIR` checks another tree.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const at = process.argv.indexOf('--root')
const root = at < 0 ? fileURLToPath(new URL('..', import.meta.url)) : process.argv[at + 1]

/** `subject`: names of variables that hold such a value. `common`: names that also mean other things. */
const rules = [
  {
    what: 'kind of strategy',
    home: 'src/strategies/',
    names: new Set([...keysOf('src/strategies/registry.ts', 'FILE_KINDS'), 'manual']),
    common: new Set(['call', 'custom']),
    subject: /kind$/i,
    instead: 'ask kindOf(strategy) of src/strategies/registry.ts',
  },
  {
    what: 'venue',
    home: 'src/venues/',
    names: new Set([...keysOf('src/venues/projections.ts', 'PROJECTIONS'), 'direct']),
    common: new Set([...keysOf('src/venues/projections.ts', 'PROJECTIONS'), 'direct']),
    subject: /(^via|venue)$/i,
    instead: 'ask the registry of src/venues',
  },
]

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => `src/${name.replaceAll('\\', '/')}`)
  .sort()
let failed = 0
for (const file of files) {
  const source = parse(file)
  for (const rule of rules.filter(({ home }) => !file.startsWith(home))) {
    for (const { line, text } of branchesIn(source, rule)) {
      failed += 1
      console.error(`${file}:${line}: branches on a ${rule.what}: ${text}; ${rule.instead}`)
    }
  }
}
process.exitCode = failed === 0 ? 0 : 1

function parse(file) {
  return ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, false)
}

/** Keys of an object that a file declares as a constant. */
function keysOf(file, name) {
  for (const statement of parse(file).statements)
    for (const { name: declared, initializer } of statement.declarationList?.declarations ?? [])
      if (declared.text === name) return bare(initializer).properties.map((each) => each.name.text)
  throw new Error(`${file} declares no ${name}`)
}

/** An expression without its `as` and `satisfies`. */
function bare(node) {
  return node.expression === undefined ? node : bare(node.expression)
}

function branchesIn(source, rule) {
  const found = []
  const visit = (node) => {
    if (isBranch(node, rule)) {
      const start = node.getStart(source)
      const { line } = source.getLineAndCharacterOfPosition(start)
      const text = source.text.slice(start, node.end).replace(/\s+/g, ' ')
      found.push({ line: line + 1, text: text.length > 60 ? `${text.slice(0, 60)}...` : text })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function isBranch(node, rule) {
  const { names } = rule
  if (ts.isBinaryExpression(node) && /^[!=]==?$/.test(ts.tokenToString(node.operatorToken.kind) ?? ''))
    return isCompared(node.left, node.right, rule) || isCompared(node.right, node.left, rule)
  if (ts.isSwitchStatement(node))
    return node.caseBlock.clauses.some((clause) => ts.isCaseClause(clause) && isCompared(node.expression, clause.expression, rule))
  if (ts.isElementAccessExpression(node)) {
    const name = literalOf(node.argumentExpression)
    return names.has(name) && !rule.common.has(name)
  }
  if (ts.isObjectLiteralExpression(node))
    return isMany(node.properties.map((each) => each.name && (each.name.text ?? '')), names)
  if (ts.isArrayLiteralExpression(node))
    return isMany(node.elements.map((each) => literalOf(ts.isArrayLiteralExpression(each) ? each.elements[0] : each)), names)
  return false
}

/** Whether a value is compared with a name of the rule. */
function isCompared(value, name, { names, common, subject }) {
  const literal = literalOf(name)
  return names.has(literal) && (!common.has(literal) || subject.test(nameOf(value)))
}

function isMany(literals, names) {
  return new Set(literals.filter((literal) => names.has(literal))).size > 1
}

function literalOf(node) {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined
}

/** The name of a value: `kind` of `strategy?.kind` and of `kind`. */
function nameOf(node) {
  if (ts.isPropertyAccessExpression(node)) return node.name.text
  if (ts.isIdentifier(node)) return node.text
  return node.expression === undefined ? '' : nameOf(node.expression)
}
