"""What an agent wants, does and has learnt to do: goals, working memory and strategies."""
