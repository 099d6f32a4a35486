import type { Fault } from '../yaml/document.ts'
import type { TradingInput } from './settings-schema.ts'

/** Checks that a chain has at least `agree` nodes, and none twice. */
export function checkChains({ chains }: TradingInput, report: (fault: Fault) => void): void {
  for (const [name, { agree, rpcUrls }] of Object.entries(chains)) {
    const nodes = rpcUrls.map(nodeAt)
    for (const [index, node] of nodes.entries()) {
      const first = nodes.indexOf(node)
      if (first === index) continue
      report({
        path: ['chains', name, 'rpcUrls', index],
        message: `this is the node of entry ${first + 1} once more, and would count twice`,
        expected: 'each node once, and better of different operators',
      })
    }
    if (agree <= rpcUrls.length) continue
    const there = rpcUrls.length === 1 ? 'is 1 node' : `are ${rpcUrls.length} nodes`
    report({
      path: ['chains', name, 'agree'],
      message: `${agree} nodes have to agree, and there ${there} in rpcUrls`,
      expected: 'more addresses under `rpcUrls`, of different operators, or fewer that must agree',
    })
  }
}

/** The part of a URL that identifies a node, without protocol and login. */
function nodeAt(address: string): string {
  const { hostname, port, pathname, search } = new URL(address)
  return `${hostname.replace(/\.$/, '')}:${port}${pathname.replace(/\/+$/, '')}${search}`
}
