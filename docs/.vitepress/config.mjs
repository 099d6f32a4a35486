// The documentation as a site: `npm run docs` builds it into dist/. It reads docs/*.md as they are.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const read = (page) => readFileSync(fileURLToPath(new URL(`../${page}`, import.meta.url)), 'utf8')

/** One group for each heading of the index, with the pages that it links to, by their own titles. */
function sidebar() {
  const [, ...groups] = read('README.md').split(/^## /m)
  const seen = new Set()
  return groups.map((group) => {
    const pages = [...group.matchAll(/\]\((\w[\w-]*\.md)[#)]/g)].map(([, page]) => page)
    const fresh = [...new Set(pages)].filter((page) => !seen.has(page) && seen.add(page))
    return {
      text: group.split('\n', 1)[0],
      items: fresh.map((page) => ({
        text: /^# (.+)$/m.exec(read(page))[1],
        link: `/${page.replace(/\.md$/, '')}`,
      })),
    }
  })
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="#1a56b0"><path d="M1 2h14v3H1zM1 7h10v3H1zM1 12h6v3H1z"/></svg>'

export default defineConfig({
  title: 'tranched',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  description: 'A daemon that trades unattended',
  rewrites: { 'README.md': 'index.md' },
  // How the code is laid out is read in the repository.
  srcExclude: ['internals/**'],
  markdown: {
    config(md) {
      // Commands are indented in these pages; the site shows them as it shows fenced ones.
      md.renderer.rules.code_block = (tokens, at, ...rest) => {
        tokens[at].info = 'sh'
        return md.renderer.rules.fence(tokens, at, ...rest)
      }
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: sidebar(),
    outline: [2, 3],
  },
})
