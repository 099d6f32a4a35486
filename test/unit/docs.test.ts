import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const PAGES = readdirSync('docs')
  .filter((file) => file.endsWith('.md'))
  .map((file) => `docs/${file}`)
/** Pages for contributors: the site omits them, and ARCHITECTURE.md is their index. */
const INTERNALS = readdirSync('docs/internals').map((file) => `docs/internals/${file}`)
const DOCUMENTS = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...PAGES,
  ...INTERNALS,
]
const LINK = /(?<!`)\]\(([^)\s]+)\)/g
const GENERATED = /<!-- fields: [\s\S]*?<!-- end of fields -->/g

const read = (file: string): string => readFileSync(file, 'utf8')

const wordCount = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length

/** Heading anchors as on GitHub and in VitePress. */
function anchorsOf(file: string): readonly string[] {
  return [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  )
}

test('every link between documents leads to an existing file and heading', () => {
  const dead = DOCUMENTS.flatMap((document) =>
    [...read(document).matchAll(LINK)]
      .map(([, target = '']) => target)
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#')
        const file = path === '' ? document : normalize(join(dirname(document), path))
        if (!existsSync(file)) return true
        return anchor !== undefined && !anchorsOf(file).includes(anchor)
      })
      .map((target) => `${document}: ${target}`),
  )
  expect(dead).toEqual([])
})

test('no page of docs links out of the folder, since the site lacks those pages', () => {
  expect(PAGES.filter((page) => read(page).includes('](../'))).toEqual([])
})

test('the index links every page', () => {
  const index = read('docs/README.md')
  const missing = PAGES.filter((page) => page !== 'docs/README.md').filter(
    (page) => !index.includes(`](${page.replace('docs/', '')}`),
  )
  expect(missing).toEqual([])
})

test('ARCHITECTURE.md links every page of docs/internals', () => {
  const architecture = read('ARCHITECTURE.md')
  expect(INTERNALS.length).toBeGreaterThan(8)
  expect(INTERNALS.filter((page) => !architecture.includes(`](${page})`))).toEqual([])
})

test('every page begins with its title and its purpose', () => {
  const pages = ['ARCHITECTURE.md', ...PAGES, ...INTERNALS]
  expect(pages.filter((page) => !/^# .+\n\nThis (page|index) /.test(read(page)))).toEqual([])
})

test('the entry documents stay within their word limits', () => {
  expect(wordCount(read('README.md'))).toBeLessThanOrEqual(1_200)
  expect(wordCount(read('ARCHITECTURE.md'))).toBeLessThanOrEqual(1_500)
  expect(wordCount(read('CONTRIBUTING.md'))).toBeLessThanOrEqual(600)
})

test('pages of docs/internals stay within their word limit', () => {
  expect(INTERNALS.filter((page) => wordCount(read(page)) > 1_400)).toEqual([])
})

test('documents name the actor and avoid the banned words', () => {
  const found = DOCUMENTS.flatMap((document) =>
    (
      read(document)
        .replace(GENERATED, '')
        .match(/\b(told|telling|whoever|nobody)\b/gi) ?? []
    ).map((word) => `${document}: ${word}`),
  )
  expect(found).toEqual([])
})
