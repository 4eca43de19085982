"""McpServer resources in, ConfigMaps and truthful statuses out."""
