// SPDX-License-Identifier: MIT
pragma solidity ^0.8.30;

/// @notice Price feed with the read interface of a Chainlink aggregator. Also serves as the sequencer uptime
/// feed, where answer 0 means up and startedAt is when that began.
contract PriceFeed {
    uint8 public immutable decimals;
    address public immutable operator;
    string public description;
    uint256 public constant version = 1;

    uint80 private _round;
    int256 private _answer;
    uint256 private _startedAt;
    uint256 private _updatedAt;

    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    error OnlyOperator();
    error NoDataPresent();

    constructor(address operator_, string memory description_, uint8 decimals_) {
        operator = operator_;
        description = description_;
        decimals = decimals_;
    }

    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        if (_round == 0) revert NoDataPresent();
        return (_round, _answer, _startedAt, _updatedAt, _round);
    }

    /// @notice Starts a round with any times, so that tests can make a feed stale or a sequencer down.
    function set(int256 answer, uint256 startedAt, uint256 updatedAt) external {
        if (msg.sender != operator) revert OnlyOperator();
        _round += 1;
        _answer = answer;
        _startedAt = startedAt;
        _updatedAt = updatedAt;
        emit AnswerUpdated(answer, _round, updatedAt);
    }
}

/// @notice Operator of every feed: one transaction moves them all.
contract FeedBoard {
    address public immutable operator;

    error OnlyOperator();

    constructor(address operator_) {
        operator = operator_;
    }

    /// @notice New answers stamped with the block's time.
    function push(PriceFeed[] calldata feeds, int256[] calldata answers) external {
        if (msg.sender != operator) revert OnlyOperator();
        for (uint256 i = 0; i < feeds.length; i++) {
            feeds[i].set(answers[i], block.timestamp, block.timestamp);
        }
    }

    /// @notice One round of one feed with given times.
    function set(PriceFeed feed, int256 answer, uint256 startedAt, uint256 updatedAt) external {
        if (msg.sender != operator) revert OnlyOperator();
        feed.set(answer, startedAt, updatedAt);
    }
}
